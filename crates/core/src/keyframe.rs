//! Values over time: linear between keyframes, constant outside them.

/// The keyframes before and after `time` and how far it is from one to the other, 0 to 1; outside of all of them the
/// nearest twice. `None` without keyframes. They must be in order of time.
pub fn around<K: Copy>(keys: &[K], time: f64, time_of: impl Fn(&K) -> f64) -> Option<(K, K, f64)> {
    let after = keys.partition_point(|key| time_of(key) <= time);
    let before = after.checked_sub(1).map(|i| keys[i]);
    match (before, keys.get(after).copied()) {
        (Some(a), Some(b)) => Some((a, b, (time - time_of(&a)) / (time_of(&b) - time_of(&a)))),
        (only, other) => only.or(other).map(|key| (key, key, 0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_met_and_held_outside() {
        let keys = [(1.0, 10.0), (2.0, 30.0), (4.0, 30.0)];
        let value = |time| around(&keys, time, |k| k.0).map(|(a, b, s)| a.1 + (b.1 - a.1) * s);
        assert_eq!(value(0.0), Some(10.0));
        assert_eq!(value(1.0), Some(10.0));
        assert_eq!(value(1.5), Some(20.0));
        assert_eq!(value(9.0), Some(30.0));
        assert_eq!(around(&[] as &[(f64, f64)], 1.0, |k| k.0), None);
    }
}
