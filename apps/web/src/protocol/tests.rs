use super::*;

const SCENE: &str = r#"
title = "a sheet"
[time]
duration = 1
step = 0.016
[cloth.grid]
size = [0.5, 0.5]
nodes = [8, 8]
[integrator.implicit]
[[grip]]
name = "bar"
where = { side = "top" }
[tear.criterion.separation_tensor]
strength = 0.3
"#;

fn ask(desk: &mut Desk, request: Value) -> Value {
    serde_json::from_str(&desk.answer(request.to_string().as_bytes())).unwrap()
}

fn load(text: &str) -> (Desk, Value) {
    let mut desk = Desk::default();
    let reply = ask(&mut desk, json!({ "do": "load", "name": "a.toml", "text": text, "files": [], "variant": null }));
    (desk, reply)
}

fn ray(x: f64, y: f64) -> Value {
    json!({ "origin": [x, y, 2.0], "direction": [0, 0, -1] })
}

#[test]
fn every_request_is_answered() {
    let (mut desk, scene) = load(SCENE);
    assert_eq!((&scene["title"], &scene["kind"]), (&json!("a sheet"), &json!("sheet")), "{scene}");
    assert!(scene["options"]["fabrics"].as_array().unwrap().len() > 2);
    let requests = [
        json!({ "do": "step", "count": 3 }),
        json!({ "do": "grab", "hand": 1, "ray": ray(0.2, 0.2) }),
        json!({ "do": "drag", "hand": 1, "to": [0.2, -0.1, 0.3] }),
        json!({ "do": "wind", "velocity": [0, 0, 3] }),
        json!({ "do": "throw", "ray": ray(0.3, 0.3), "radius": 0.03, "mass": 0.1, "speed": 3 }),
        json!({ "do": "step", "count": 20 }),
        json!({ "do": "pick", "ray": ray(0.1, 0.4) }),
        json!({ "do": "pin", "ray": ray(0.1, 0.4) }),
        json!({ "do": "cut", "rays": [ray(0.3, 0.4), ray(0.4, 0.4)] }),
        json!({ "do": "step", "count": 5 }),
        json!({ "do": "release", "hand": 1 }),
        json!({ "do": "bodies" }),
        json!({ "do": "frame", "colouring": "strain", "known": -1 }),
        json!({ "do": "export", "what": "toml" }),
        json!({ "do": "export", "what": "obj" }),
        json!({ "do": "export", "what": "usda" }),
        json!({ "do": "hash" }),
        json!({ "do": "rewind", "seconds": 0.2 }),
        json!({ "do": "paint", "ray": ray(0.3, 0.3), "radius": 0.1, "strength": 0.1 }),
        json!({ "do": "paint_end" }),
        json!({ "do": "paint_clear" }),
        json!({ "do": "set", "strength": 2.0, "opening": "through" }),
        json!({ "do": "restart" }),
    ];
    for request in requests {
        let reply = ask(&mut desk, request.clone());
        assert!(reply.get("error").is_none(), "{request}: {reply}");
        if request["do"] == "frame" {
            let vertices = reply["vertices"].as_u64().unwrap() as usize;
            assert!(reply["changed"] == true && reply["steps"] == 28 && reply["body_count"] == 1, "{reply}");
            assert_eq!([0, 1, 2, 4].map(|which| desk.part(which).1), [12, 12, 4, 8].map(|size| size * vertices));
            assert_eq!(desk.part(3).1, 12 * reply["faces"].as_u64().unwrap() as usize);
            let again = ask(&mut desk, json!({ "do": "frame", "known": reply["version"] }));
            assert!(again["changed"] == false && again["steps"] == 0);
            assert_eq!(desk.part(2).1, 0, "the fabric has no shade");
        }
    }
}

#[test]
fn what_is_wrong_is_told_as_on_the_command_line() {
    let (mut desk, reply) = load(&SCENE.replace("size =", "sise ="));
    let error = &reply["error"];
    assert_eq!(error["line"], 7, "{reply}");
    assert!(error["text"].as_str().unwrap().starts_with("a.toml:7: unknown key `sise`"), "{reply}");
    assert!(error["advice"].as_str().unwrap().contains("did you mean `size`"));
    assert!(
        ask(&mut desk, json!({ "do": "step", "count": 1 }))["error"]["cause"].as_str().unwrap().contains("no scene")
    );
    for nonsense in [&b"{"[..], b"\xff", b"{\"do\":\"fly\"}", b"{\"do\":\"step\",\"count\":1e99}", b""] {
        let reply: Value = serde_json::from_str(&desk.answer(nonsense)).unwrap();
        assert!(reply["error"]["cause"].as_str().unwrap().contains("can't be read"), "{reply}");
    }
    let (mut desk, _) = load(SCENE);
    assert!(ask(&mut desk, json!({ "do": "step", "count": 1_000_000 })).get("error").is_some());
    // A scene that can't be loaded leaves the one before.
    ask(&mut desk, json!({ "do": "load", "name": "b.toml", "text": "x = 1" }));
    assert!(ask(&mut desk, json!({ "do": "step", "count": 1 })).get("error").is_none());
}

#[test]
fn files_of_a_scene_come_with_it() {
    let cube = "v 0 0 0\nv 1 0 0\nv 0 0 1\nv 1 0 1\nvt 0 0\nvt 1 0\nvt 0 1\nvt 1 1\nf 1/1 2/2 4/4\nf 1/1 4/4 3/3\n";
    let text = SCENE.replace("[cloth.grid]\nsize = [0.5, 0.5]\nnodes = [8, 8]", "[cloth.obj]\nfile = \"sheet.obj\"");
    let data = inline::name_of("x", cube.as_bytes());
    let data = data.split_once(',').unwrap().1;
    let mut desk = Desk::default();
    let request =
        json!({ "do": "load", "name": "c.toml", "text": text, "files": [{ "name": "sheet.obj", "data": data }] });
    let reply = ask(&mut desk, request);
    assert!(reply.get("error").is_none(), "{reply}");
    let toml = ask(&mut desk, json!({ "do": "export", "what": "toml" }));
    assert!(toml["text"].as_str().unwrap().contains("data:model/obj;base64,"));
    let missing = ask(&mut desk, json!({ "do": "load", "name": "c.toml", "text": text }));
    assert!(missing["error"]["cause"].as_str().unwrap().contains("sheet.obj"), "{missing}");
}
