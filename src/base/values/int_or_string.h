#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace porthole {

/// A number or a text: a port by number or name, or an amount such as 1 or "25%".
class IntOrString {
public:
    IntOrString() = default;
    IntOrString(std::int32_t number) : number_(number) {}
    IntOrString(std::string text) : text_(std::move(text)), is_string_(true) {}
    IntOrString(const char* text) : IntOrString(std::string(text)) {}

    bool is_string() const { return is_string_; }
    bool is_int() const { return !is_string_; }
    std::int32_t as_int() const { return number_; }         ///< 0 for a text
    const std::string& as_string() const { return text_; }  ///< "" for a number
    /// The default value: the number 0.
    bool is_zero() const { return !is_string_ && number_ == 0; }
    std::string to_string() const;

    /// The number, or that percentage of `total`. Error: BadRequest for a text that is not a percentage.
    Result<std::int32_t> scaled(std::int32_t total, bool round_up) const;

    bool operator==(const IntOrString&) const = default;

private:
    std::string text_;
    std::int32_t number_ = 0;
    bool is_string_ = false;
};

}  // namespace porthole
