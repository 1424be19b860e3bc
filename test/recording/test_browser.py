# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each kind of page in a real browser, as wide as a desk's and as a phone's.

Pictures of them stay in the folder that PAGE_PICTURES names, by default in that of the tests.
"""
import base64
import concurrent.futures
import math
import os
import pathlib
import shutil

import pytest
from campaigns import campaign, folder_of, row_of
from report_flights import Page

from px4_sim_ros.campaign import conduct as conducting
from px4_sim_ros.campaign.campaign_report import write_report
from px4_sim_ros.campaign.jobs import FlownPath
from px4_sim_ros.cli.command_line import main

HOP = pathlib.Path(__file__).resolve().parents[2] / 'examples' / 'first_hop.yaml'
MOST_BYTES = 2_000_000
WIDTHS_PX = {'desk': 1280, 'phone': 390}
# As in CI: in a container, as root, without a graphics card.
OPTIONS = (
    '--headless', '--no-sandbox', '--disable-gpu', '--enable-unsafe-swiftshader', '--disable-quic',
    '--no-first-run', '--disable-background-networking', '--disable-component-update',
    '--disable-sync', '--disable-dev-shm-usage', '--hide-scrollbars')

pytestmark = pytest.mark.process


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    """Return Chromium, which loads nothing by itself."""
    programs = [shutil.which(name) for name in ('chromium', 'chromedriver')]
    if not all(programs):
        pytest.skip('no chromium and chromedriver; on Debian: apt-get install chromium-driver')
    webdriver = pytest.importorskip('selenium.webdriver')
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(option)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    driver = webdriver.Chrome(options, Service(programs[1]))
    yield driver
    driver.quit()


@pytest.fixture(scope='module')
def pages(tmp_path_factory):
    """Return a function that returns the page of a kind, which is made once."""
    folder, made = tmp_path_factory.mktemp('pages'), {}

    def page(kind):
        if kind not in made:
            made[kind] = folder / f'{kind}.html'
            KINDS[kind](folder, made[kind])
        return made[kind]
    return page


def run(*words):
    assert main([str(word) for word in words]) == 0


def fly(folder, name, page, *words):
    from instances import free
    with free() as instances:
        run('fly', '--mode', 'core', '--instance', next(instances), '--record', folder / name,
            '--report', page, *words)


def hover(folder):
    """Return a recording of a flight of some seconds."""
    bag = folder / 'hover'
    if not bag.exists():
        fly(folder, 'hover', folder / 'hover.html', '--mission', HOP)
    return bag


def flight(folder, page):
    run('report', hover(folder), '-o', page)


def fleet(folder, page):
    fly(folder, 'fleet', page, '--vehicles', 2, '--mission', HOP)


def campaign_page(folder, page):
    def flown(job):
        answer, number = row_of(job), job.number
        answer['row']['path'] = FlownPath(number, 0.1, [[0, 0, 0], [number, 1, 2], [number, 2, 1]])
        return answer
    found = folder_of(folder / 'campaign', campaign(runs=40, vary={
        'weather.speed_m_s': {'uniform': [0, 6]}, 'weather.from_deg': {'choice': [0, 90]}}))
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        conducting.conduct(found, executor, flown, 2, lambda progress: None)
    shutil.copy(write_report(found), page)


def deviation(folder, page):
    run('replay', hover(folder), '--set', 'dynamics.substeps=1', '--plot', page)


def validation(folder, page):
    run('validate', hover(folder), '--vehicle', 'iris', '--report', page)


def identification(folder, page):
    run('identify', hover(folder), '--vehicle', 'iris', '--out', folder / 'new.yaml', '--fit',
        'rotor_model.thrust_coefficient_n_s2', '--report', page)


KINDS = {one.__name__: one for one in (
    flight, fleet, campaign_page, deviation, validation, identification)}

# What is drawn of each figure: of a plane one the shapes of each trace, of one in space its canvas.
_DRAWN = """
const done = arguments[arguments.length - 1];
const wait = () => {
  const plots = [...document.querySelectorAll('.plot')];
  if (plots.length && document.body.dataset.drawn !== `${plots.length}`)
    return setTimeout(wait, 20);
  done(plots.map(div => ({
    traces: div.data.filter(t => t.visible !== false && (t._length || (t.x || []).length
                                 || (t.x || {}).bdata)).length,
    drawn: div.querySelectorAll('.scatterlayer .trace, .barlayer .trace').length
           + (div.querySelector('.gl-container canvas') ? div.data.length : 0),
    shapes: div.querySelectorAll('.trace path').length + div.querySelectorAll('canvas').length,
    text: div.innerText,
    heights: div.data.map(t => Array.from(t.y || []).filter(Number.isFinite)),
    // Of one that is folded nothing has a size.
    legends: div.offsetWidth ? [...div.querySelectorAll('.infolayer > [class^=legend]')].map(
        one => one.getBoundingClientRect().width) : [],
    covered: [...div.querySelectorAll('.infolayer > [class^=legend]')].filter(one => {
      const box = one.getBoundingClientRect();
      return box.width && [...div.querySelectorAll('.bglayer .bg, .gridlayer')].some(other => {
        const its = other.getBoundingClientRect();
        return box.left < its.right - 1 && box.right > its.left + 1
          && box.top < its.bottom - 1 && box.bottom > its.top + 1;
      });
    }).length})));
};
wait();
"""


@pytest.mark.parametrize('width', WIDTHS_PX)
@pytest.mark.parametrize('kind', KINDS)
def test_page_is_whole(browser, pages, tmp_path_factory, kind, width):
    from selenium.webdriver.support.wait import WebDriverWait
    path, width_px = pages(kind), WIDTHS_PX[width]
    assert path.stat().st_size < MOST_BYTES
    browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
        'width': width_px, 'height': 900, 'deviceScaleFactor': 1, 'mobile': width == 'phone'})
    browser.get_log('browser')
    browser.get(path.as_uri())
    # On a busy machine `get` can return with the page before.
    whole = [path.as_uri(), 'complete']
    WebDriverWait(browser, 60).until(
        lambda it: it.execute_script('return [location.href, document.readyState]') == whole)
    plots = browser.execute_async_script(_DRAWN)
    picture = browser.execute_cdp_cmd('Page.captureScreenshot', {'captureBeyondViewport': True})
    pictures = pathlib.Path(
        os.environ.get('PAGE_PICTURES') or tmp_path_factory.getbasetemp() / 'pictures')
    pictures.mkdir(parents=True, exist_ok=True)
    (pictures / f'{kind}_{width}.png').write_bytes(base64.b64decode(picture['data']))
    # `rendering` is the browser itself, of a graphics card that it has to stand in for.
    assert [line for line in browser.get_log('browser') if line['source'] != 'rendering'] == []
    assert bool(plots) == (kind != 'identification')
    for plot, figure in zip(plots, Page(path.read_text(encoding='utf-8')).figures, strict=True):
        assert plot['heights'] == [
            [y for y in trace['y'] if y is not None and math.isfinite(y)]
            if isinstance(trace.get('y'), list) else [] for trace in figure['data']]
        assert plot['drawn'] >= plot['traces'] > 0 and plot['shapes'] > 0, plot
        assert 'WebGL' not in plot['text']
        assert all(plot['legends']) and plot['covered'] == 0, plot
    assert browser.execute_script('return document.documentElement.scrollWidth') <= width_px
