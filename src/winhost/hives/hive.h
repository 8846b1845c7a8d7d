#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::winhost {

/// A value of a key in a registry hive. Names are as Windows has them: UTF-16, which need not be valid.
struct HiveValue {
    std::u16string name;        ///< "" for the key's default value
    std::uint32_t type = 0;     ///< as Windows numbers them: 1 for REG_SZ
    std::string data;           ///< unchanged: strings are UTF-16LE with their NUL
    bool is_tombstone = false;  ///< the value of lower layers is deleted
};

/// A key of a registry hive, with everything below it. In the hives of image layers a key can replace those of the same path in lower
/// layers.
struct HiveKey {
    enum class Layering {
        Merge,            ///< its values and keys are added to those of lower layers
        Tombstone,        ///< the key is deleted, with everything below it
        SupersedeValues,  ///< its values replace all values of lower layers; the keys below are added
        SupersedeTree,    ///< replaces the key of lower layers with everything below it
    };
    std::u16string name;
    Layering layering = Layering::Merge;
    bool is_link = false;
    std::vector<HiveValue> values;
    std::vector<HiveKey> keys;
};

/// What of a hive is read at most. A hive is a graph of offsets that may lead to the same cell again and again.
struct HiveLimits {
    std::size_t depth = 512;  ///< as in Windows
    std::size_t keys = 200'000, values = 500'000;
    std::size_t bytes = std::size_t{32} << 20;  ///< of all names and data together
};

/// Reads a registry hive (a file with the signature "regf", versions 1.3 to 1.6) and returns its root, whose name has no meaning. Security
/// descriptors, classes and transaction logs are not read. The bytes are not trusted. Error: Invalid.
Result<HiveKey> parse_hive(std::string_view bytes, const HiveLimits& limits = {});

}  // namespace porthole::winhost
