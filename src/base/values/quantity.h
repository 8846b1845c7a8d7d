#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole {

/// An exact amount as Kubernetes writes it: "100m", "1Gi", "1e3".
///
/// Held in units of 10⁻⁹, which is Kubernetes' own precision (finer text rounds away from zero). Amounts beyond ±(2⁶³-1) are clamped.
/// Compares by amount, whatever the suffix. See apimachinery's api/resource.
class Quantity {
public:
    enum class Format : std::uint8_t { DecimalSi, BinarySi, DecimalExponent };

    Quantity() = default;
    /// Error: BadRequest with upstream's message.
    static Result<Quantity> parse(std::string_view text);
    static Quantity from_value(std::int64_t whole, Format format = Format::DecimalSi);
    /// "100m" is from_milli(100): CPU amounts in millicores.
    static Quantity from_milli(std::int64_t thousandths, Format format = Format::DecimalSi);

    /// Billionths.
    static Quantity from_nano(std::int64_t billionths, Format format = Format::DecimalSi);

    bool is_zero() const { return nanos_ == 0; }
    bool is_negative() const { return nanos_ < 0; }
    int sign() const { return nanos_ < 0 ? -1 : nanos_ > 0; }
    Format format() const { return format_; }

    /// Rounded up (away from zero) to whole units, thousandths, billionths; clamped to the range of int64.
    std::int64_t value() const;
    std::int64_t milli_value() const;
    std::int64_t nano_value() const;
    double as_double() const;
    bool is_whole() const;

    /// The canonical text: no fraction, and the largest suffix that allows this.
    std::string to_string() const;
    /// Rounded up (away from zero) to thousandths, as the server does with resource lists.
    Quantity rounded_up_to_milli() const;

    // Keeps the left side's format, unless it is zero.
    Quantity& operator+=(const Quantity& other);
    Quantity& operator-=(const Quantity& other);
    friend Quantity operator+(Quantity left, const Quantity& right) { return left += right; }
    friend Quantity operator-(Quantity left, const Quantity& right) { return left -= right; }
    Quantity operator-() const;

    bool operator==(const Quantity& other) const { return nanos_ == other.nanos_; }
    std::strong_ordering operator<=>(const Quantity& other) const { return nanos_ <=> other.nanos_; }

private:
    __extension__ using Int128 = __int128;
    void assign(Int128 nanos);

    Int128 nanos_ = 0;
    Format format_ = Format::DecimalSi;
};

}  // namespace porthole
