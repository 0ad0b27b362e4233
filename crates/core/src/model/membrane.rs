//! A membrane of finite elements with bending over hinges.
//!
//! Source: Karaöz 2015 chapter 2. Parameters: [`Elasticity`], by default [that of the fabric](Elasticity::of); bending and damping
//! are those of [`Fabric`]. Limits: see the manual pages of the two elements. What tears it is the strain of edges, as with
//! springs.

use crate::cloth::Cloth;
use crate::fabric::Fabric;
use crate::potential::{Bend, Elasticity, ElementSet, Membrane, Potential};

/// The potentials of a membrane. Bending that is zero costs nothing.
pub fn membrane(fabric: &Fabric, elasticity: Elasticity, cloth: &Cloth) -> Vec<Box<dyn Potential>> {
    let sheet = Membrane { elasticity, damping: fabric.damping };
    let mut potentials: Vec<Box<dyn Potential>> = vec![Box::new(ElementSet::new(sheet, cloth))];
    if fabric.bend > 0.0 {
        potentials.push(Box::new(ElementSet::new(Bend { stiffness: fabric.bend }, cloth)));
    }
    potentials
}
