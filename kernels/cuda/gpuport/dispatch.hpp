// From run-time values to template arguments: warp width x operator, or warp width x element type.
//
// A variant states what it takes as a list of types; that list is all there is to its dtype support.
#pragma once

#include "call.hpp"

namespace gp {

template <typename... Ts>
struct TypeList {};

template <typename... As, typename... Bs>
constexpr TypeList<As..., Bs...> operator+(TypeList<As...>, TypeList<Bs...>) {
  return {};
}

namespace detail {

[[noreturn]] inline void refuse_dtypes(const Call& call) {
  throw Error(ErrorKind::kValue, std::string(call.name) + " does not take " + dtype_name(call.in.dtype) + " to " +
                                     dtype_name(call.out.dtype) + "; gpuport.kernels() lists what it takes");
}

template <int... kWidths, typename F>
void visit_width(const Call& call, WarpWidths<kWidths...>, F&& f) {
  const bool found = ((call.warp_size == kWidths && (f.template operator()<kWidths>(), true)) || ...);
  if (found) return;
  std::string widths;
  ((widths += (widths.empty() ? "" : ", ") + std::to_string(kWidths)), ...);
  throw Error(ErrorKind::kValue, std::string(call.name) + ": the device has warps of " +
                                     std::to_string(call.warp_size) + " lanes; this build carries code for " + widths);
}

}  // namespace detail

// Calls f<kWarp>().
template <typename F>
void visit_width(const Call& call, F&& f) {
  detail::visit_width(call, TargetWarpWidths{}, f);
}

// Calls f<kWarp, Op>() for the operator of the list that has the call's code, input and result.
template <typename... Ops, typename F>
void visit(const Call& call, TypeList<Ops...>, F&& f) {
  detail::visit_width(call, TargetWarpWidths{}, [&]<int kWarp>() {
    const bool found =
        ((Ops::kCode == call.op && kDTypeOf<typename Ops::Input> == call.in.dtype &&
          kDTypeOf<typename Ops::Result> == call.out.dtype && (f.template operator()<kWarp, Ops>(), true)) ||
         ...);
    if (!found) detail::refuse_dtypes(call);
  });
}

// Calls f<kWarp, T>() for the element type of the input, which is the output's as well.
template <typename... Ts, typename F>
void visit_elements(const Call& call, TypeList<Ts...>, F&& f) {
  if (call.in.dtype != call.out.dtype) detail::refuse_dtypes(call);
  detail::visit_width(call, TargetWarpWidths{}, [&]<int kWarp>() {
    const bool found = ((kDTypeOf<Ts> == call.in.dtype && (f.template operator()<kWarp, Ts>(), true)) || ...);
    if (!found) detail::refuse_dtypes(call);
  });
}

}  // namespace gp
