#pragma once
#include <memory>

#include "base/result.h"
#include "schema/type.h"

namespace porthole::schema {

/// Owns one struct whose type is known only at run time.
class Instance {
public:
    /// Requires: `type` is built in (has a struct).
    explicit Instance(const Type& type) : object_((CHECK(type.create), type.create()), type.destroy), type_(&type) {}

    const Type& type() const { return *type_; }
    void* get() { return object_.get(); }
    const void* get() const { return object_.get(); }

private:
    std::unique_ptr<void, void (*)(void*)> object_;
    const Type* type_;
};

}  // namespace porthole::schema
