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

[[noreturn]] void refuse_dtypes(const Call& call);
[[noreturn]] void refuse_warp_size(const Call& call, const int* widths, int count);

template <int... kWidths, typename F>
void visit_width(const Call& call, WarpWidths<kWidths...>, F&& f) {
  const bool found = ((call.warp_size == kWidths && (f.template operator()<kWidths>(), true)) || ...);
  if (found) return;
  const int widths[] = {kWidths...};
  refuse_warp_size(call, widths, int(sizeof...(kWidths)));
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
