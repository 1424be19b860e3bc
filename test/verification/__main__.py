# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Print all checks: how far each model is off what; `python -m verification`, or `make verify`."""
from __future__ import annotations

import sys
import typing

from verification.checks import Check, all_checks


def main(checks: typing.Sequence[Check]) -> int:
    """Run the checks, print a paragraph for each, and return the exit code: 1 if any has failed."""
    failed = []
    for check in checks:
        try:
            deviation = check.deviation()
            found, passed = f'{deviation:.3g}', deviation <= check.tolerance
        except Exception as error:      # it is named, and the next one is run
            found, passed = f'{type(error).__name__}: {error}', False
        failed += [] if passed else [check.name]
        print(f"{'pass' if passed else 'FAIL'}  {check.name}: {found}"
              f' (tolerance {check.tolerance:.3g} {check.unit})\n'
              f'      model: {check.model}\n'
              f'      reference: {check.reference}')
    print(f"{len(checks)} checks, {len(failed)} failed: {', '.join(failed)}" if failed else
          f'{len(checks)} checks, all passed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(all_checks()))
