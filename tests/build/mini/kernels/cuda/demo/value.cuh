#pragma once
constexpr float kValue = 1.5f;
