#pragma once
#include <cstddef>

#include "base/result.h"
#include "schema/access.h"

namespace porthole::schema {

/// How much memory the elements, entries and optional members of one decoded object may take, without the texts in them. A list element of
/// two bytes can be a struct of a kilobyte, so that a request of 3 MB would take gigabytes.
class DecodeBudget {
public:
    /// Of an object that is read from so many bytes.
    explicit DecodeBudget(std::size_t encoded) : left_(Base + PerByte * encoded) {}
    /// Of one that is read from a tree of values.
    DecodeBudget() : left_(OfTree) {}

    /// What is about to be added to a member. Error: BadRequest.
    Result<void> take(const Access& access) {
        if (access.item_size > left_) return Error(Reason::BadRequest, "the object takes too much memory");
        left_ -= access.item_size;
        return {};
    }

private:
    static constexpr std::size_t Base = 32 << 20, PerByte = 32, OfTree = 256 << 20;
    std::size_t left_;
};

}  // namespace porthole::schema
