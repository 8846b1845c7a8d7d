#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace porthole::net {

/// SHA-256 over bytes that come in pieces.
class Sha256 {
public:
    Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    ~Sha256();

    void update(std::string_view bytes);
    /// 64 lower-case hexadecimal digits. Afterwards the object starts anew.
    std::string finish_hex();

private:
    struct Context;
    std::unique_ptr<Context> context_;
};

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace porthole::net
