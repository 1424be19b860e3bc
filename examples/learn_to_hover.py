# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Learns to hover by the motors alone, with PPO of Stable-Baselines3, and draws its training curve.

It needs `pip install 'px4_sim_ros[gymnasium]' stable-baselines3 matplotlib`, which brings PyTorch.

    python examples/learn_to_hover.py hover.zip curve.png
"""
import sys
import time

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

import px4_sim_ros.learning  # noqa: F401

ENVIRONMENT, LIMIT_S, BEST = 'px4_sim_ros/Motors-v0', 10.0, 10.0
STEPS, VEHICLES, STEPS_OF_EACH = 400_000, 4, 1024
SEED, TRIALS = 1, 10


class Curve(BaseCallback):
    """Collects what each episode brought, by the step at which it was over."""

    def __init__(self):
        super().__init__()
        self.episodes = []
        self.begun_s = time.monotonic()

    def _on_step(self):
        self.episodes += [(self.num_timesteps, info['episode']['r'], info['episode']['t'])
                          for info in self.locals['infos'] if 'episode' in info]
        return True

    def _on_rollout_end(self):
        last = [reward for _, reward, _ in self.episodes[-20:]]
        if last:
            print(f'{self.num_timesteps:7} steps, {time.monotonic() - self.begun_s:4.0f} s:'
                  f' {np.mean(last):6.2f} an episode', flush=True)


def drawn(episodes, file):
    """Draw the reward of each episode, and the mean of the 20 up to it."""
    steps, rewards, _ = np.array(episodes).T
    figure, axes = plt.subplots(figsize=(7.0, 3.2), layout='constrained')
    axes.axhline(BEST, color='#7d8792', linewidth=0.8, linestyle='--')
    axes.scatter(1e-3 * steps, rewards, s=3, color='#9db8d9', linewidths=0, label='an episode')
    few = min(20, len(rewards))
    axes.plot(1e-3 * steps[few - 1:], np.convolve(rewards, np.full(few, 1.0 / few), 'valid'),
              color='#1f4e8c', label=f'mean of {few}')
    axes.set(xlabel='thousand steps of 20 ms', ylabel='reward, 10 is the best',
             ylim=(max(-40.0, rewards.min()) - 1.0, BEST + 1.0))
    axes.legend(loc='lower right', frameon=False)
    axes.spines[['top', 'right']].set_visible(False)
    figure.savefig(file, dpi=110)


def distances_m(model):
    """Return how far from the target the vehicle is, on the mean of the last half, by trial."""
    found = []
    with gymnasium.make(ENVIRONMENT, limit_s=LIMIT_S) as environment:
        for seed in range(1000, 1000 + TRIALS):
            observation, _ = environment.reset(options={'seed': seed})
            ways_m, is_over = [], False
            while not is_over:
                action, _ = model.predict(observation, deterministic=True)
                observation, _, is_lost, is_truncated, _ = environment.step(action)
                ways_m.append(np.linalg.norm(observation[:3]))
                is_over = is_lost or is_truncated
            found.append(np.inf if is_lost else np.mean(ways_m[len(ways_m) // 2:]))
    return found


def main(model_file, picture, steps=STEPS):
    """Learn, draw the curve, and fly with what was learned."""
    torch.set_num_threads(1)
    environment = make_vec_env(ENVIRONMENT, VEHICLES, seed=SEED, env_kwargs={'limit_s': LIMIT_S})
    model = PPO('MlpPolicy', environment, n_steps=STEPS_OF_EACH, batch_size=256, seed=SEED,
                policy_kwargs={'log_std_init': -1.0})
    curve = Curve()
    model.learn(int(steps), callback=curve)
    environment.close()
    model.save(model_file)
    drawn(curve.episodes, picture)
    print('metres from the target:', *(f'{distance_m:.2f}' for distance_m in distances_m(model)))


if __name__ == '__main__':
    main(*sys.argv[1:])
