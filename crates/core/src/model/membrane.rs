//! A membrane of finite elements with bending over hinges.
//!
//! Source: Karaöz 2015 chapter 2. Parameters: how it resists strain, by default [as the fabric does](Fabric::law); bending and
//! damping are those of [`Fabric`]. Limits: see the manual pages of the two elements. What tears it is the strain of edges, as with
//! springs.

use super::bending;
use crate::cloth::Cloth;
use crate::fabric::{ElasticityKind, Fabric};
use crate::potential::{ElementSet, MeasuredLaw, Membrane, Potential};

/// The potentials of a membrane. Bending that is zero costs nothing.
pub fn membrane(fabric: &Fabric, elasticity: impl Into<ElasticityKind>, cloth: &Cloth) -> Vec<Box<dyn Potential>> {
    let damping = fabric.damping;
    let sheet: Box<dyn Potential> = match elasticity.into() {
        ElasticityKind::Measured(measured) => {
            Box::new(ElementSet::new(Membrane { elasticity: MeasuredLaw::from(measured), damping }, cloth))
        }
        ElasticityKind::Crimped(crimped) => Box::new(ElementSet::new(Membrane { elasticity: crimped, damping }, cloth)),
        constant => Box::new(ElementSet::new(Membrane { elasticity: constant.at_rest(), damping }, cloth)),
    };
    std::iter::once(sheet).chain(bending(fabric, cloth)).collect()
}
