// @ts-check
/** Draws nodes in WebGL: the shape depends on the type; a full node is solid, a stub is pale, and a seed has a ring around it. The size of a seed includes its ring. */

import { SHAPES } from "./palette.js";

/** Each node is a triangle. Instances of one would be slow if WebGL runs in software. */
const CORNERS = [0, (2 * Math.PI) / 3, (4 * Math.PI) / 3];

const VERTEX = `
attribute vec4 a_id;
attribute vec4 a_color;
attribute vec4 a_border;
attribute vec2 a_position;
attribute float a_size;
attribute float a_kind;
attribute float a_angle;
uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
varying vec4 v_color;
varying vec4 v_border;
varying vec2 v_offset;
varying float v_radius;
varying float v_kind;
const float bias = 255.0 / 254.0;
void main() {
  float size = a_size * 1.2 * u_correctionRatio / u_sizeRatio * 4.0;
  vec2 offset = size * vec2(cos(a_angle), sin(a_angle));
  gl_Position = vec4((u_matrix * vec3(a_position + offset, 1)).xy, 0, 1);
  v_offset = offset;
  v_radius = size / 2.0 / 1.2 / (a_kind > 9.5 ? 1.55 : 1.0);
  v_kind = a_kind;
  v_border = a_border;
  #ifdef PICKING_MODE
  v_color = a_id;
  #else
  v_color = a_color;
  #endif
  v_color.a *= bias;
}`;

const FRAGMENT = `
precision highp float;
varying vec4 v_color;
varying vec4 v_border;
varying vec2 v_offset;
varying float v_radius;
varying float v_kind;
uniform float u_correctionRatio;
uniform vec4 u_ring;
const vec4 nothing = vec4(0.0);
float distanceTo(vec2 p, float shape) {
  if (shape < 0.5) return length(p) - 1.0;
  if (shape < 1.5) return max(abs(p.x), abs(p.y)) - 0.88;
  if (shape < 2.5) return (abs(p.x) + abs(p.y) - 1.2) * 0.75;
  return max(abs(p.x) * 0.866 + p.y * 0.5, -p.y) - 0.62;
}
void main(void) {
  float ring = floor(v_kind / 10.0);
  vec2 p = v_offset / v_radius;
  float d = distanceTo(p, v_kind - ring * 10.0);
  float soft = 1.6 * u_correctionRatio / v_radius;
  #ifdef PICKING_MODE
  gl_FragColor = d > 0.15 ? nothing : v_color;
  #else
  float rim = 2.4 * soft;
  vec4 inside = mix(v_color, v_border, smoothstep(-rim - soft, -rim, d));
  vec4 colour = mix(inside, nothing, smoothstep(-soft, 0.0, d));
  if (ring > 0.5) {
    float away = abs(d - 0.38) - 0.12;
    colour = mix(u_ring, colour, smoothstep(-soft, soft, away));
  }
  gl_FragColor = colour;
  #endif
}`;

/** The program for sigma, created once sigma is loaded. @param {() => string} ringColour */
export function shapeProgram(ringColour) {
  const { rendering, utils } = /** @type {any} */ (globalThis).Sigma;
  const { FLOAT, UNSIGNED_BYTE, TRIANGLES } = WebGLRenderingContext;
  return class extends rendering.NodeProgram {
    getDefinition() {
      return {
        VERTICES: 3,
        VERTEX_SHADER_SOURCE: VERTEX,
        FRAGMENT_SHADER_SOURCE: FRAGMENT,
        METHOD: TRIANGLES,
        UNIFORMS: ["u_sizeRatio", "u_correctionRatio", "u_matrix", "u_ring"],
        ATTRIBUTES: [
          { name: "a_position", size: 2, type: FLOAT },
          { name: "a_size", size: 1, type: FLOAT },
          { name: "a_color", size: 4, type: UNSIGNED_BYTE, normalized: true },
          { name: "a_border", size: 4, type: UNSIGNED_BYTE, normalized: true },
          { name: "a_kind", size: 1, type: FLOAT },
          { name: "a_id", size: 4, type: UNSIGNED_BYTE, normalized: true },
          { name: "a_angle", size: 1, type: FLOAT },
        ],
      };
    }

    processVisibleItem(/** @type {number} */ index, /** @type {number} */ start, /** @type {any} */ data) {
      const { array } = this;
      const [color, border] = [utils.floatColor(data.color), utils.floatColor(data.border ?? data.color)];
      const kind = SHAPES.indexOf(data.shape ?? "circle") + (data.seed ? 10 : 0);
      for (const angle of CORNERS) {
        array[start++] = data.x;
        array[start++] = data.y;
        array[start++] = data.size;
        array[start++] = color;
        array[start++] = border;
        array[start++] = kind;
        array[start++] = index;
        array[start++] = angle;
      }
    }

    setUniforms(/** @type {any} */ params, /** @type {any} */ { gl, uniformLocations: at }) {
      gl.uniform1f(at.u_correctionRatio, params.correctionRatio);
      gl.uniform1f(at.u_sizeRatio, params.sizeRatio);
      gl.uniformMatrix3fv(at.u_matrix, false, params.matrix);
      const ring = ringColour();
      const [r, g, b] = [1, 3, 5].map((i) => parseInt(ring.slice(i, i + 2), 16) / 255);
      gl.uniform4f(at.u_ring, r, g, b, 1);
    }
  };
}
