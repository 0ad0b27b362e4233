// A floor that is nothing but the shadow on it, far softer than three's shadows: it takes twenty places in a disc, turned from pixel to pixel.

import * as THREE from "three";

const SOFT = /* glsl */ `
float softMask() {
  float lit = 1.0;
  #if defined(USE_SHADOWMAP) && NUM_DIR_LIGHT_SHADOWS > 0
    vec3 at = vDirectionalShadowCoord[0].xyz / vDirectionalShadowCoord[0].w;
    bool within = all(greaterThan(at.xy, vec2(0.02))) && all(lessThan(at.xy, vec2(0.98))) && at.z <= 1.0;
    if (within) {
      float turn = interleavedGradientNoise(gl_FragCoord.xy) * PI2;
      lit = 0.0;
      for (int i = 0; i < 20; i++) lit += texture(directionalShadowMap[0], vec3(at.xy + vogelDiskSample(i, 20, turn) * 0.02, at.z));
      lit /= 20.0;
    }
  #endif
  return lit;
}

void main() {`;

export function floorMaterial(): THREE.ShadowMaterial {
  const material = new THREE.ShadowMaterial({ color: 0x2a3038, opacity: 0.3, side: THREE.DoubleSide });
  material.onBeforeCompile = (shader) => {
    shader.fragmentShader = shader.fragmentShader.replace("void main() {", SOFT).replace("1.0 - getShadowMask()", "1.0 - softMask()");
  };
  return material;
}
