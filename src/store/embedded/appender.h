#pragma once
#include <vector>

#include "store/engine.h"

namespace porthole::store {

/// Appends many rows to an engine in groups. Rows of one revision are one commit.
class Appender {
public:
    /// `engine` must be loaded, and outlive this object.
    explicit Appender(Engine& engine) : engine_(engine) {}

    /// Requires: ascending revision and index. Blocks. Errors: those of Engine::append().
    Result<void> add(Row row);
    /// Call it after the last row.
    Result<void> flush();

private:
    Engine& engine_;
    std::vector<Commit> commits_;
    std::size_t rows_ = 0, bytes_ = 0;
};

}  // namespace porthole::store
