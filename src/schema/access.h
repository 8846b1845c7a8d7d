#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/box.h"

namespace porthole::schema {

/// Lets generic code work on a container member of a struct. One per container type. The member's type decides which functions are set: an
/// optional has `get` and `emplace`, a vector `size`, `get_at`, `append`, a map `size`, `visit`, `insert`.
struct Access {
    using Visitor = bool (*)(void* context, const std::string& key, const void* value);

    const void* (*get)(const void* member) = nullptr;  ///< nullptr if empty
    void* (*emplace)(void* member) = nullptr;          ///< replaces any old value
    std::size_t (*size)(const void* member) = nullptr;
    const void* (*get_at)(const void* member, std::size_t index) = nullptr;
    void* (*append)(void* member) = nullptr;
    bool (*visit)(const void* member, void* context, Visitor visitor) = nullptr;  ///< in key order; stops at false
    const void* (*find)(const void* member, const std::string& key) = nullptr;
    void* (*insert)(void* member, std::string&& key) = nullptr;
    void (*clear)(void* member) = nullptr;
    std::size_t item_size = 0;  ///< bytes of what `emplace`, `append` or `insert` adds, what it points to excepted
};

template <class Optional>
inline constexpr Access optional_access{
    .get = [](const void* member) -> const void* {
        const auto& optional = *static_cast<const Optional*>(member);
        return optional.has_value() ? &*optional : nullptr;
    },
    .emplace = [](void* member) -> void* { return &static_cast<Optional*>(member)->emplace(); },
    .clear = [](void* member) { static_cast<Optional*>(member)->reset(); },
    .item_size = sizeof(*std::declval<Optional>()),
};

template <class Vector>
inline constexpr Access list_access{
    .size = [](const void* member) { return static_cast<const Vector*>(member)->size(); },
    .get_at = [](const void* member, std::size_t index) -> const void* { return &(*static_cast<const Vector*>(member))[index]; },
    .append = [](void* member) -> void* { return &static_cast<Vector*>(member)->emplace_back(); },
    .clear = [](void* member) { static_cast<Vector*>(member)->clear(); },
    .item_size = sizeof(typename Vector::value_type),
};

template <class Map>
inline constexpr Access map_access{
    .size = [](const void* member) { return static_cast<const Map*>(member)->size(); },
    .visit =
        [](const void* member, void* context, Access::Visitor visitor) {
            for (const auto& [key, value] : *static_cast<const Map*>(member))
                if (!visitor(context, key, &value)) return false;
            return true;
        },
    .find = [](const void* member, const std::string& key) -> const void* {
        const auto& map = *static_cast<const Map*>(member);
        const auto found = map.find(key);
        return found == map.end() ? nullptr : &found->second;
    },
    .insert = [](void* member, std::string&& key) -> void* { return &(*static_cast<Map*>(member))[std::move(key)]; },
    .clear = [](void* member) { static_cast<Map*>(member)->clear(); },
    .item_size = sizeof(typename Map::value_type),
};

/// For `Type::create` and `Type::destroy`.
template <class T>
void* create_struct() {
    return new T();
}
template <class T>
void destroy_struct(void* object) {
    delete static_cast<T*>(object);
}

}  // namespace porthole::schema
