#pragma once
namespace gp::demo {
float fill();
float twice(float value);
}  // namespace gp::demo
