#include "plans.hpp"

#include <utility>

namespace gpuport::launcher {

void Plans::add(StoredKey key, Entry plan) {
  if (plans_.size() >= most_) clear();
  plans_.insert_or_assign(std::move(key.words), Stored{std::move(plan), std::move(key.kept)});
}

void Plans::clear() {
  const auto forgotten = std::move(plans_);  // what goes with them may make calls
  plans_.clear();
}

std::vector<bool> Plans::filled() const {
  std::vector<bool> all;
  for (const auto& [key, stored] : plans_) all.push_back(stored.plan != nullptr);
  return all;
}

}  // namespace gpuport::launcher
