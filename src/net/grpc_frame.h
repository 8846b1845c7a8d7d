#pragma once  // private to this folder
#include <optional>
#include <string>

#include "base/result.h"

namespace porthole::net {

/// A message behind its five bytes of prefix.
std::string grpc_frame(std::string_view message);

/// Puts messages together from pieces cut anywhere.
class GrpcReassembler {
public:
    explicit GrpcReassembler(std::size_t limit) : limit_(limit) {}
    void add(std::string_view bytes) { buffer_.append(bytes); }
    /// The next whole message, if there is one. Error: TooManyRequests over the limit, BadRequest if compressed.
    Result<std::optional<std::string>> take();
    bool empty() const { return buffer_.size() == taken_; }

private:
    std::size_t limit_;
    std::string buffer_;
    std::size_t taken_ = 0;
};

}  // namespace porthole::net
