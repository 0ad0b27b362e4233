//! Mass and springs on a triangle mesh: stretch along edges, shear in corners, bending over hinges.
//!
//! Or, with [`bend_shear`], one spring across every inner edge for both shear and bending.
//!
//! Source: Phillips 2008 chapter III.B; Önal & İşler 2013 §3.1. Parameters: those of [`Fabric`]. Limits: see the manual pages of the
//! three elements.

use super::bending;
use crate::cloth::Cloth;
use crate::fabric::Fabric;
use crate::potential::{BendShear, ElementSet, Potential, Shear, Stretch};

/// The potentials of a spring sheet. A property that is zero costs nothing.
pub fn springs(fabric: &Fabric, cloth: &Cloth) -> Vec<Box<dyn Potential>> {
    let mut potentials: Vec<Box<dyn Potential>> = vec![Box::new(ElementSet::new(Stretch::of(fabric), cloth))];
    if fabric.shear > 0.0 {
        potentials.push(Box::new(ElementSet::new(Shear { stiffness: fabric.shear }, cloth)));
    }
    potentials.extend(bending(fabric, cloth));
    potentials
}

/// Springs of this stiffness [N/m] across the inner edges, damped as the fabric is.
pub fn bend_shear(stiffness: f64, fabric: &Fabric, cloth: &Cloth) -> Box<dyn Potential> {
    Box::new(ElementSet::new(BendShear::new(stiffness, fabric.damping), cloth))
}
