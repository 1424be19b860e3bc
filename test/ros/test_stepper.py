"""Time: how far it goes, when it stands, and what it counts."""
import pytest

from px4_sim_ros.step.clock import Stepper

STEP_US = 4000


@pytest.fixture
def published():
    return []


@pytest.fixture
def stepper(published):
    return Stepper(STEP_US, 0.0, published.append)


def complete(stepper, count):
    """Complete so many steps, as long as one is under way."""
    for _ in range(count):
        stepper.complete(stepper.time_us)


def test_it_stands_still_at_first(stepper, published):
    assert (stepper.paused, stepper.under_way, published) == (True, False, [])


def test_a_step_begins_when_the_one_before_is_complete(stepper, published):
    stepper.resume()
    assert published == [4000]
    complete(stepper, 3)
    assert published == [4000, 8000, 12_000, 16_000]
    assert (stepper.steps, stepper.complete_us, stepper.time_us) == (3, 12_000, 16_000)


@pytest.mark.parametrize('time_us', [0, 4000, 12_000])
def test_the_end_of_another_step_does_not_count(stepper, published, time_us):
    stepper.resume()
    complete(stepper, 1)
    assert not stepper.complete(time_us)
    assert published == [4000, 8000]


def test_a_pause_lets_the_step_end(stepper, published):
    stepper.resume()
    stepper.pause()
    assert stepper.under_way
    complete(stepper, 1)
    assert (stepper.under_way, stepper.steps, published) == (False, 1, [4000])
    assert not stepper.complete(4000)
    stepper.resume()
    assert published == [4000, 8000]


def test_resuming_twice_begins_one_step(stepper, published):
    stepper.resume()
    stepper.resume()
    assert published == [4000]


def test_resuming_while_the_last_step_is_under_way_begins_none(stepper, published):
    stepper.resume()
    stepper.pause()
    stepper.resume()
    assert published == [4000]
    complete(stepper, 1)
    assert published == [4000, 8000]


@pytest.mark.parametrize('count', [1, 2, 250])
def test_so_many_steps(stepper, published, count):
    stepper.go_on(count)
    complete(stepper, count + 3)
    assert (stepper.steps, stepper.under_way, len(published)) == (count, False, count)


def test_further_steps_are_added(stepper):
    stepper.go_on(2)
    stepper.go_on(3)
    complete(stepper, 10)
    assert stepper.steps == 5


def test_so_many_steps_mean_nothing_while_time_goes_on(stepper):
    stepper.resume()
    stepper.go_on(1)
    complete(stepper, 10)
    assert stepper.steps == 10


def test_a_restart_begins_at_0_and_counts_anew(stepper, published):
    stepper.resume()
    complete(stepper, 5)
    stepper.restart()
    assert (stepper.time_us, stepper.steps, stepper.paused, stepper.under_way) == (
        0, 0, True, False)
    stepper.resume()
    assert published[-1] == 4000


def test_wall_time_leaves_out_the_pauses(stepper, monkeypatch):
    now_s = [100.0]
    monkeypatch.setattr('px4_sim_ros.step.clock.time.monotonic', lambda: now_s[0])

    def steps(count):
        for _ in range(count):
            now_s[0] += 0.002
            complete(stepper, 1)

    stepper.resume()
    steps(101)
    stepper.pause()
    steps(1)
    now_s[0] += 60.0
    stepper.resume()
    steps(100)
    # The first step, which waits for the autopilot, does not count.
    assert stepper.wall_s == pytest.approx(201 * 0.002)
    assert stepper.real_time_factor() == pytest.approx(2.0)
