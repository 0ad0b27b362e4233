//! Time that stages of steps take, by the host's clock.

use ripstop::{Stage, Watch};
use std::collections::BTreeMap;

/// Milliseconds by some clock.
#[cfg(target_arch = "wasm32")]
fn now() -> f64 {
    crate::exports::now()
}

#[cfg(not(target_arch = "wasm32"))]
fn now() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e3
}

/// Adds up what every stage takes.
#[derive(Default)]
pub struct Clock {
    /// Milliseconds of each stage, by its name.
    pub stages: BTreeMap<&'static str, f64>,
    /// Steps in which they went by.
    pub steps: u64,
    running: Option<(Stage, f64)>,
}

impl Clock {
    /// Ends the stage that runs.
    pub fn stop(&mut self) {
        if let Some((stage, since)) = self.running.take() {
            *self.stages.entry(stage.name()).or_default() += now() - since;
        }
    }
}

impl Watch for Clock {
    fn enter(&mut self, stage: Stage) {
        self.stop();
        self.running = Some((stage, now()));
    }
}
