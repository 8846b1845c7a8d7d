#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/regex.h"
#include "runtime/files/file_system.h"

namespace porthole::kubelet {

/// The real path of a file below `folder`, with links resolved. Errors: BadRequest for ".." and the like; Forbidden for a path outside of
/// it; NotFound.
Result<std::string> file_below(FileSystem& files, const std::string& folder, const std::vector<std::string>& parts);

/// A query of a node's log files: `/logs/?query=kubelet&tailLines=100&pattern=error`.
class NodeLogQuery {
public:
    /// nullopt without a query, for a plain listing. Error: BadRequest.
    static Result<std::optional<NodeLogQuery>> parse(const std::vector<std::pair<std::string, std::string>>& query);

    /// The directories that are searched, `own` before `root`. Those of `own` may also hold other files than logs, such as keys: there,
    /// only files whose names end in ".log" are shown.
    struct Folders {
        std::vector<std::string> own;
        std::string root;
    };
    /// The requested lines, service after service. A service's file is NAME.log, NAME/NAME.log or NAME in the first directory that has one;
    /// a name with a slash is the path of a file. Error: NotFound with the service's name.
    Result<std::string> run(FileSystem& files, const Folders& folders) const;

private:
    static Result<std::string> find(FileSystem& files, const Folders& folders, const std::string& service);
    std::string lines_of(const std::string& text) const;

    std::vector<std::string> services_;
    std::optional<std::int64_t> since_, until_;  ///< nanoseconds since 1970
    std::optional<std::int64_t> tail_lines_;
    std::optional<Regex> pattern_;
};

}  // namespace porthole::kubelet
