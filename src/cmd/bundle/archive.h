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
    /// Creates `path`, readable by its owner only; every entry gets the time `now`. Errors: AlreadyExists, Io.
    static Result<Archive> create(const std::string& path, Timestamp now);
    ~Archive();
    Archive(Archive&&) noexcept;

    /// Adds a file. `name` is "folder/file" in ASCII; characters that are invalid in file names on some system are replaced, and content
    /// beyond the archive's limit is cut. Error: Io.
    Result<void> add(std::string_view name, std::string_view text);
    /// Error: Io.
    Result<void> close();

private:
    struct Impl;
    explicit Archive(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole::cmd::bundle
