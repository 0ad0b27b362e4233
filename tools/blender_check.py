#!/usr/bin/env python3
"""Imports an exported cloth into Blender and compares every frame, as Blender evaluates it, with the OBJ export of the run.

    python3 -m venv venv && venv/bin/pip install bpy==5.0.1
    venv/bin/python tools/blender_check.py cloth.usda obj/

Exit code 0 if node count, face count, places, the nodes of each face and uv agree on all frames, 1 if not, with one line per
fault.
"""

import pathlib
import sys

import bpy


def read_obj(path):
    """Points, faces and the uv of every corner."""
    points, lines, faces, uv = [], [], [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        word, *rest = line.split()
        if word == "v":
            points.append(as_blender_has_it([float(x) for x in rest]))
        elif word == "vt":
            lines.append(tuple(float(x) for x in rest))
        elif word == "f":
            corners = [[int(x) - 1 for x in corner.split("/")] for corner in rest]
            faces.append(tuple(node for node, _ in corners))
            uv.extend(lines[line] for _, line in corners)
    return points, faces, uv


def as_blender_has_it(point):
    """Y up to Z up."""
    x, y, z = point
    return (x, -z, y)


def flat(values, attribute, width):
    table = [0] * (len(values) * width)
    values.foreach_get(attribute, table)
    return [tuple(table[k : k + width]) for k in range(0, len(table), width)]


def distance(a, b):
    if len(a) != len(b):
        return float("inf")
    return max((abs(x - y) for p, q in zip(a, b) for x, y in zip(p, q)), default=0.0)


def main(usd, folder):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.usd_import(filepath=usd)
    sheet = next(item for item in bpy.data.objects if item.type == "MESH")
    scene = bpy.context.scene
    print(f"Blender {bpy.app.version_string}: frames {scene.frame_start} to {scene.frame_end}, {scene.render.fps} frames/s")
    print(f"modifiers: {[modifier.type for modifier in sheet.modifiers]}")
    faults, sizes, largest, attributes = [], set(), 0.0, {}
    files = sorted(pathlib.Path(folder).glob("cloth_*.obj"))
    for file in files:
        frame = int(file.stem.removeprefix("cloth_"))
        wanted_points, wanted_faces, wanted_uv = read_obj(file)
        scene.frame_set(frame)
        seen = sheet.evaluated_get(bpy.context.evaluated_depsgraph_get())
        data = seen.data
        points = [tuple(seen.matrix_world @ vertex.co) for vertex in data.vertices]
        faces = [tuple(polygon.vertices) for polygon in data.polygons]
        sizes.add((len(points), len(faces)))
        away = distance(points, wanted_points)
        largest = max(largest, away)
        if away > 1e-5:
            faults.append(f"frame {frame}: {len(points)} nodes, wanted {len(wanted_points)}, off by {away} m")
        if faces != wanted_faces:
            faults.append(f"frame {frame}: {len(faces)} faces, wanted {len(wanted_faces)}, or other nodes in them")
        uv = data.uv_layers.active
        if uv is None or distance(flat(uv.data, "uv", 2), wanted_uv) > 1e-6:
            faults.append(f"frame {frame}: uv differ")
        for attribute in data.attributes:
            attributes.setdefault(attribute.name, set()).add(len(attribute.data))
    for fault in faults:
        print(fault)
    for name, lengths in sorted(attributes.items()):
        print(f"attribute {name}: {min(lengths)} to {max(lengths)} values")
    print(f"{len(files)} frames, {len(sizes)} different sizes, places within {largest:.2g} m, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
