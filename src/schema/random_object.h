#pragma once
#include <random>

#include "schema/type.h"

namespace porthole::schema {

/// Fills structs with random content from their tables, for tests. Every form and shape occurs, and containers stay small. Content that
/// JSON cannot distinguish from absence (an empty element of an opaque form) does not occur.
class RandomObject {
public:
    explicit RandomObject(std::uint32_t seed) : random_(seed) {}
    Instance make(const Type& type);

private:
    void fill(const Type& type, void* object, int depth);
    void fill_member(const Field& field, void* memory, int depth);
    void fill_element(const Field& field, void* memory, int depth);
    void fill_alternatives(const Type& type, void* object, int depth);
    int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }
    std::string text();

    std::mt19937 random_;
};

}  // namespace porthole::schema
