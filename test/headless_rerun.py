# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is in a file of Rerun."""
import numpy as np


class Read:
    """A Rerun recording by entity: what is static, and values by time in microseconds."""

    def __init__(self, path):
        from rerun.chunk import RrdReader

        from px4_sim_ros.viewing.rerun_stream import TIMELINE
        self.static, self.values = {}, {}
        for chunk in RrdReader(path).stream().to_chunks():
            if chunk.entity_path == '/__properties':      # name and wall time of the start
                continue
            batch = chunk.to_record_batch()
            kept = self.static if chunk.is_static else self.values
            entity = kept.setdefault(chunk.entity_path, {})
            if not chunk.is_static:
                # What is not static is on the simulated timeline, and on no other.
                assert chunk.timeline_names == [TIMELINE]
                times_us = [t.value // 1000 for t in batch.column(TIMELINE)]
            for name in batch.schema.names:
                if ':' in name:
                    rows = batch.column(name).to_pylist()
                    if chunk.is_static:
                        entity[name] = rows[0]
                    else:
                        entity.setdefault(name, {}).update(
                            (t, row) for t, row in zip(times_us, rows) if row is not None)

    def of(self, entity, component):
        """Return times in microseconds, in their order, and an array of values."""
        found = self.values[entity][component]
        times_us = sorted(found)
        return times_us, np.array([found[t] for t in times_us])

    def scalars(self, entity):
        return self.of(entity, 'Scalars:scalars')
