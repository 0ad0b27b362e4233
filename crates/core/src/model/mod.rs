//! Models: recipes of potentials, without arithmetic of their own.
//!
//! To add one: a file here with a function that returns its potentials, and its arm in the scene reader.

mod membrane;
mod springs;

pub use membrane::membrane;
pub use springs::{bend_shear, springs};

use crate::cloth::Cloth;
use crate::fabric::Fabric;
use crate::math::Vec3;
use crate::potential::{Air, Bend, Drag, ElementSet, Gravity, MeasuredBend, Potential};
use crate::wind::Wind;

/// Bending over hinges, for every model the same; none if it is zero.
fn bending(fabric: &Fabric, cloth: &Cloth) -> Option<Box<dyn Potential>> {
    match fabric.bending {
        Some(bending) => Some(Box::new(ElementSet::new(MeasuredBend::from(bending), cloth))),
        None if fabric.bend > 0.0 => Some(Box::new(ElementSet::new(Bend { stiffness: fabric.bend }, cloth))),
        None => None,
    }
}

/// What surrounds the cloth.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// Gravity [m/s²].
    pub gravity: Vec3,
    /// Linear air resistance of faces [kg/(m²·s)].
    pub viscous: f64,
    /// Quadratic air resistance of faces [kg/m³].
    pub pressure: f64,
    /// Drag of nodes [kg/m³].
    pub drag: f64,
    /// Wind over time.
    pub wind: Wind,
}

impl Default for Surroundings {
    /// Earth, with just enough air for cloth to come to rest.
    fn default() -> Self {
        Self { gravity: Vec3::new(0.0, -9.81, 0.0), viscous: 0.1, pressure: 0.0, drag: 0.0, wind: Wind::default() }
    }
}

impl Surroundings {
    /// The loads, for every model the same.
    pub fn loads(&self, cloth: &Cloth) -> Vec<Box<dyn Potential>> {
        let mut loads: Vec<Box<dyn Potential>> = Vec::new();
        if self.gravity != Vec3::ZERO {
            loads.push(Box::new(Gravity { acceleration: self.gravity }));
        }
        if self.viscous != 0.0 || self.pressure != 0.0 {
            loads.push(Air::over(cloth, self.viscous, self.pressure, self.wind.clone()));
        }
        if self.drag != 0.0 {
            loads.push(Box::new(Drag { coefficient: self.drag }));
        }
        loads
    }
}
