#pragma once
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "schema/access.h"

namespace porthole::schema {

/// How much memory the elements, entries and optional members of one decoded object may take, without the texts in them. A list element of
/// two bytes can be a struct of a kilobyte, so that a request of 3 MB would take gigabytes. What a request may bring is bounded, and what
/// is stored or inside the process is not: it has to be readable.
class DecodeBudget {
public:
    static constexpr std::size_t OfRequest = 256 << 20;

    DecodeBudget() = default;  ///< without a bound
    explicit DecodeBudget(std::size_t most) : left_(most) {}

    /// What is about to be added to a member. Error: BadRequest.
    Result<void> take(const Access& access) {
        if (access.item_size > left_) return Error(Reason::BadRequest, "the object takes too much memory");
        left_ -= access.item_size;
        return {};
    }

private:
    std::size_t left_ = SIZE_MAX;
};

}  // namespace porthole::schema
