#pragma once
#include <functional>
#include <string>

#include "apiserver/access_flags.h"
#include "base/log.h"
#include "runtime/files/file_system.h"

namespace porthole::apiserver {

/// Follows the files of --authentication-config and --authorization-config: a change takes effect within seconds, without a restart. A file
/// that is not valid, or names an issuer that cannot be asked, changes nothing; it is reported in the log and the metrics, and tried again
/// every minute. Lives on `loop`; the seams outlive it.
class AccessReload {
public:
    struct Seams {
        EventLoop& loop;
        FileSystem& files;
        Logger log;
    };
    /// Must be created before a server reads the files, so that no change is missed. `own_issuers` are those of service accounts' tokens.
    AccessReload(Seams seams, AccessFlags flags, std::vector<std::string> own_issuers);

    /// Until cancelled. Requires: `server` was started with the content of the files. It outlives the task.
    Task<> follow(ApiServer& server);
    /// With upstream's names.
    void append_metrics(std::string& out) const;

private:
    struct Outcomes {
        std::uint64_t count = 0;
        SystemTime last{};
    };
    struct File {
        std::string name;   ///< "authentication"
        std::string path;   ///< "" for none
        std::string used;   ///< hash of the file in use
        std::string tried;  ///< hash of the file that could not be used
        MonotonicTime next_try{};
        Outcomes successes, failures;
    };
    using Use = std::function<Task<>(const std::string& text)>;

    Task<> follow_file(File& file, Use use);
    Task<> use_authentication(ApiServer& server, std::string text);
    Task<> use_authorization(ApiServer& server, std::string text);
    void note(File& file, const std::string& hash, const Result<void>& outcome);

    Seams seams_;
    const AccessFlags flags_;
    const std::vector<std::string> own_issuers_;
    File authentication_, authorization_;
};

}  // namespace porthole::apiserver
