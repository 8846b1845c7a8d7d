#pragma once
#include <cstddef>
#include <cstring>

namespace porthole::schema {

/// The scalar at `memory`, whatever its declared type (an enum, or a byte used as a bool).
template <class T>
T load(const void* memory) {
    T value;
    std::memcpy(&value, memory, sizeof(T));
    return value;
}
template <class T>
void store(void* memory, T value) {
    std::memcpy(memory, &value, sizeof(T));
}

/// The member of a struct.
inline const void* member(const void* object, std::size_t offset) { return static_cast<const char*>(object) + offset; }
inline void* member(void* object, std::size_t offset) { return static_cast<char*>(object) + offset; }

}  // namespace porthole::schema
