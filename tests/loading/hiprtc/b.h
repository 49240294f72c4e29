#pragma once
#define N 3
