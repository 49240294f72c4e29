#include "error.hpp"

namespace gp::detail {

void fail(ErrorKind kind, const MessagePart* parts, int count) {
  std::string message;
  for (int i = 0; i < count; ++i) message += parts[i].text ? parts[i].text : std::to_string(parts[i].number);
  throw Error(kind, message);
}

}  // namespace gp::detail
