#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time/time.h"

namespace porthole::cmd::bundle {

/// A tar archive, compressed by gzip, that is written front to back. All calls block. Without close() the file is not a whole archive, and
/// is the caller's to remove.
class Archive {
public:
    /// Makes `path`, for its owner alone; every entry gets the time `now`. Errors: AlreadyExists, Io.
    static Result<Archive> create(const std::string& path, Timestamp now);
    ~Archive();
    Archive(Archive&&) noexcept;

    /// A file of the archive. `name` is "folder/file" in ASCII; characters that a file name cannot have on each system are replaced, and
    /// what is longer than an archive can hold is cut. Error: Io.
    Result<void> add(std::string_view name, std::string_view text);
    /// Error: Io.
    Result<void> close();

private:
    struct Impl;
    explicit Archive(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole::cmd::bundle
