#pragma once
#ifndef OFFSET
#define OFFSET 0.5f
#endif
