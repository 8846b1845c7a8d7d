#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace porthole {

/// The seam for randomness. All functions use next(), so a seeded source reproduces them. Not thread-safe: one per loop.
class Random {
public:
    virtual ~Random() = default;
    virtual std::uint64_t next() = 0;

    /// Uniform in [0, bound). Requires: bound > 0.
    std::uint64_t below(std::uint64_t bound);
    /// Uniform in [0, 1).
    double fraction();
    std::string bytes(std::size_t count);
    /// `count` characters drawn from `alphabet`.
    std::string pick(std::size_t count, std::string_view alphabet);
    /// A version 4 UUID in lower case.
    std::string uuid();
};

/// The operating system's generator: suitable for keys and tokens. Reads several numbers at a time.
class SystemRandom final : public Random {
public:
    std::uint64_t next() override;

private:
    void fill();

    std::array<std::uint64_t, 32> numbers_{};
    std::size_t used_ = numbers_.size();
};

/// Reproducible (splitmix64); never for secrets.
class SeededRandom final : public Random {
public:
    explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() override;

private:
    std::uint64_t state_;
};

}  // namespace porthole
