#pragma once
#include <map>
#include <memory>
#include <string>

#include "apiserver/storage/mirror.h"

namespace porthole::apiserver {

/// The compiled form of the objects of a Mirror: each version of an object is compiled once, on first use. Lives on the store's loop.
template <class Object, class Compiled>
class CompiledObjects {
public:
    explicit CompiledObjects(Compiled (*compile)(const Object&)) : compile_(compile) {}

    /// Of `object`, which is the one of that name in `all`.
    std::shared_ptr<const Compiled> of(const std::string& name, const std::shared_ptr<const Object>& object, const ObjectMap<Object>& all) {
        Entry& entry = entries_[name];
        if (entry.object == object) return entry.compiled;
        entry = {object, std::make_shared<const Compiled>(compile_(*object))};
        const auto compiled = entry.compiled;
        if (entries_.size() > all.size()) std::erase_if(entries_, [&](const auto& one) { return !all.contains(one.first); });
        return compiled;
    }

private:
    struct Entry {
        std::shared_ptr<const Object> object;
        std::shared_ptr<const Compiled> compiled;
    };
    Compiled (*compile_)(const Object&);
    std::map<std::string, Entry> entries_;
};

}  // namespace porthole::apiserver
