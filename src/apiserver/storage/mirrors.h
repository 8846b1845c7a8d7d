#pragma once
#include <tuple>

#include "apiserver/storage/mirror.h"
#include "runtime/scope.h"

namespace porthole::apiserver {

/// A Mirror of each of several kinds. Lives as long, and on the same loop, as a Mirror.
template <class... T>
class Mirrors {
public:
    Mirrors(store::Store& store, const Logger& log) : mirrors_(Mirror<T>(store, log)...) {}

    template <class K>
    const ObjectMap<K>& of() const {
        return std::get<Mirror<K>>(mirrors_).objects();
    }
    /// Reads all of them, without suspending. Error: that of Store::range().
    Result<void> load() {
        Result<void> loaded;
        const auto load_next = [&loaded](auto& mirror) {
            loaded = mirror.load();
            return loaded.has_value();
        };
        std::apply([&](auto&... mirror) { (load_next(mirror) && ...); }, mirrors_);
        return loaded;
    }
    /// Follows changes until `scope` is closed, which must be before this is destroyed.
    void follow(Scope& scope) {
        std::apply([&](auto&... mirror) { (scope.spawn(mirror.follow()), ...); }, mirrors_);
    }

private:
    std::tuple<Mirror<T>...> mirrors_;
};

}  // namespace porthole::apiserver
