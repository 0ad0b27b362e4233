#!/usr/bin/env python3
"""Opens an exported cloth with Pixar's library and checks every frame, and the time between frames.

    python3 -m venv venv && venv/bin/pip install usd-core
    venv/bin/python tools/usd_check.py cloth.usda [expected.json]

Checks the layer's metadata, table sizes, index bounds and extents on every frame, that sizes fit together between frames,
and Pixar's own validators where the library has them. With `expected.json`, also that each frame holds exactly these
values:

    {"frames_per_second": 24, "frames": [{"index": 0, "points": [[x, y, z], ...], "velocities": [...], "faces": [[a, b, c], ...],
      "st": [[u, v], ...], "strain": [...], "plastic": [...], "parent": [...],
      "bodies": [[[x, y, z], ...], ...],          # points of every rigid body in the world
      "yarns": {"counts": [...], "points": [...], "velocities": [...], "family": [...], "yarn": [...], "first": [...], "loose": [...]}
     }, ...]}                                     # curves of woven cloth, or null

Exit code 0 if all is right, 1 if something is not, with one line per fault.
"""

import json
import sys
from array import array

from pxr import Gf, Usd, UsdGeom

MESH = "/cloth/sheet"
BODIES = "/cloth/bodies"
YARNS = "/cloth/yarns"
faults = []


def expect(condition, text):
    if not condition:
        faults.append(text)


def flat(rows):
    return [x for row in rows for x in row]


def f32(values):
    """As the file's numbers are: rounded to 32 bits."""
    return list(array("f", values))


def state(mesh, time):
    """All tables of the mesh at a time."""
    primvar = UsdGeom.PrimvarsAPI(mesh.GetPrim()).GetPrimvar
    return {
        "points": mesh.GetPointsAttr().Get(time),
        "velocities": mesh.GetVelocitiesAttr().Get(time),
        "counts": mesh.GetFaceVertexCountsAttr().Get(time),
        "indices": mesh.GetFaceVertexIndicesAttr().Get(time),
        "extent": mesh.GetExtentAttr().Get(time),
        "st": primvar("st").Get(time),
        "strain": primvar("strain").Get(time),
        "plastic": primvar("plastic").Get(time),
        "parent": primvar("parent").Get(time),
    }


def check_sizes(found, at):
    missing = [name for name, table in found.items() if table is None]
    expect(not missing, f"{at}: no value for {', '.join(missing)}")
    if missing:
        return
    nodes, faces = len(found["points"]), len(found["counts"])
    for name in ("velocities", "strain", "plastic", "parent"):
        expect(len(found[name]) == nodes, f"{at}: {len(found[name])} {name} for {nodes} nodes")
    for name in ("indices", "st"):
        expect(len(found[name]) == 3 * faces, f"{at}: {len(found[name])} {name} for {faces} faces")
    for name in ("indices", "parent"):
        expect(all(0 <= node < nodes for node in found[name]), f"{at}: {name} name a node that isn't there")
    sound, reason = UsdGeom.Mesh.ValidateTopology(found["indices"], found["counts"], nodes)
    expect(sound, f"{at}: {reason}")


def check_values(found, frame, at):
    tables = {
        "points": (flat(found["points"]), f32(flat(frame["points"]))),
        "velocities": (flat(found["velocities"]), f32(flat(frame["velocities"]))),
        "st": (flat(found["st"]), f32(flat(frame["st"]))),
        "strain": (list(found["strain"]), f32(frame["strain"])),
        "plastic": (list(found["plastic"]), f32(frame["plastic"])),
        "parent": (list(found["parent"]), frame["parent"]),
        "indices": (list(found["indices"]), flat(frame["faces"])),
        "counts": (list(found["counts"]), [3] * len(frame["faces"])),
    }
    for name, (values, wanted) in tables.items():
        expect(values == wanted, f"{at}: {name} differ from what was simulated ({len(values)} and {len(wanted)} values)")


def check_bodies(stage, wanted, time, at):
    """Points of bodies, moved by their transforms, are where they were simulated."""
    scope = stage.GetPrimAtPath(BODIES)
    meshes = [UsdGeom.Mesh(prim) for prim in scope.GetChildren()] if scope else []
    expect(len(meshes) == len(wanted), f"{at}: {len(meshes)} bodies instead of {len(wanted)}")
    for mesh, points in zip(meshes, wanted):
        to_world = mesh.ComputeLocalToWorldTransform(time)
        placed = [to_world.Transform(Gf.Vec3d(*point)) for point in mesh.GetPointsAttr().Get(time)]
        off = max((Gf.Vec3d(*a) - b).GetLength() for a, b in zip(points, placed))
        sound = len(placed) == len(points) and off < 1e-5
        expect(sound, f"{at}: body {mesh.GetPath()} is {off:g} m from where it was simulated")


def check_yarns(stage, wanted, time, at):
    """Curves of woven cloth fit together and are what was simulated; `wanted` is None if that isn't known."""
    curves = UsdGeom.BasisCurves.Get(stage, YARNS)
    if not curves:
        expect(not wanted, f"{at}: no curves")
        return
    primvar = UsdGeom.PrimvarsAPI(curves.GetPrim()).GetPrimvar
    found = {
        "counts": list(curves.GetCurveVertexCountsAttr().Get(time)),
        "points": flat(curves.GetPointsAttr().Get(time)),
        "velocities": flat(curves.GetVelocitiesAttr().Get(time)),
        **{name: list(primvar(name).Get(time)) for name in ("family", "yarn", "first", "loose")},
    }
    points = sum(found["counts"])
    for name, size in (("points", 3 * points), ("velocities", 3 * points), ("loose", points)):
        expect(len(found[name]) == size, f"{at}: {len(found[name])} {name} for curves of {points} points")
    for name in ("family", "yarn", "first"):
        expect(len(found[name]) == len(found["counts"]), f"{at}: {len(found[name])} {name} for {len(found['counts'])} curves")
    expect(min(found["counts"], default=2) >= 2, f"{at}: a curve of one point")
    for name, values in (wanted or {}).items():
        values = f32(flat(values)) if name in ("points", "velocities") else values
        expect(found[name] == values, f"{at}: {name} of yarns differ from what was simulated")


def check_extent(mesh, found, at):
    low, high = UsdGeom.PointBased.ComputeExtent(found["points"])
    expect([*found["extent"]] == [low, high], f"{at}: the extent doesn't fit the points")


def check_layer(stage, mesh):
    expect(UsdGeom.GetStageMetersPerUnit(stage) == 1.0, "metersPerUnit is not 1")
    expect(UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y, "upAxis is not Y")
    expect(stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond(), "a time code is not a frame")
    expect(stage.GetDefaultPrim().GetPath() == "/cloth", "defaultPrim is not /cloth")
    expect(mesh.GetSubdivisionSchemeAttr().Get() == "none", "subdivisionScheme is not none")
    expect(mesh.GetOrientationAttr().Get() == "rightHanded", "orientation is not rightHanded")
    expect(mesh.GetDoubleSidedAttr().Get() is True, "not doubleSided")
    points, velocities = mesh.GetPointsAttr().GetTimeSamples(), mesh.GetVelocitiesAttr().GetTimeSamples()
    expect(points == velocities, "points and velocities are sampled at different times")
    expect(points[0] == stage.GetStartTimeCode() and points[-1] == stage.GetEndTimeCode(), "the time range doesn't fit")


def validate(stage):
    """Pixar's own validators; their number, or None in a library without them."""
    try:
        from pxr import UsdValidation
    except ImportError:
        return None
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    for error in UsdValidation.ValidationContext(validators).Validate(stage):
        sites = ", ".join(str(site.GetPrim().GetPath()) if site.IsPrim() else "layer" for site in error.GetSites())
        expect(False, f"{error.GetName()} ({sites}): {error.GetMessage()}")
    return len(validators)


def main(usd, expected=None):
    stage = Usd.Stage.Open(usd)
    mesh = UsdGeom.Mesh.Get(stage, MESH)
    if not mesh:
        print(f"{usd}: no mesh {MESH}")
        return 1
    check_layer(stage, mesh)
    times = mesh.GetPointsAttr().GetTimeSamples()
    frames = None
    if expected:
        with open(expected, encoding="utf-8") as file:
            wanted = json.load(file)
        expect(stage.GetTimeCodesPerSecond() == wanted["frames_per_second"], "wrong frames per second")
        expect(times == [frame["index"] for frame in wanted["frames"]], "wrong frame numbers")
        frames = {frame["index"]: frame for frame in wanted["frames"]}
    sizes = set()
    for k, time in enumerate(times):
        found = state(mesh, time)
        check_sizes(found, f"frame {time:g}")
        if faults:
            break
        check_extent(mesh, found, f"frame {time:g}")
        sizes.add((len(found["points"]), len(found["counts"])))
        if frames:
            check_values(found, frames[time], f"frame {time:g}")
            check_bodies(stage, frames[time].get("bodies", []), time, f"frame {time:g}")
        check_yarns(stage, frames[time].get("yarns") if frames else None, time, f"frame {time:g}")
        for part in (0.25, 0.5, 0.999) if k + 1 < len(times) else ():
            between = time + part * (times[k + 1] - time)
            held = state(mesh, between)
            check_sizes(held, f"time {between:g}")
            expect(held["indices"] == found["indices"], f"time {between:g}: faces are not those of frame {time:g}")
            check_yarns(stage, None, between, f"time {between:g}")
    validators = validate(stage)
    for fault in faults:
        print(f"{usd}: {fault}")
    ran = "without validators" if validators is None else f"{validators} validators"
    print(f"{usd}: {len(times)} frames, {len(sizes)} different sizes, {ran}, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
