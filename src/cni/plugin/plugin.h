#pragma once
#include <map>
#include <string>
#include <string_view>

#include "cni/plugin/request.h"
#include "cni/plugin/result.h"
#include "runtime/task.h"

namespace porthole::cni {

/// A CNI plugin. Requests are complete and of a version that has the command. Errors become error documents; see errors.h.
class Plugin {
public:
    virtual ~Plugin() = default;
    virtual Task<CniResult> add(CniRequest request) = 0;
    /// Success if nothing exists.
    virtual Task<> remove(CniRequest request) = 0;
    virtual Task<> check(CniRequest request) = 0;
    /// Ready for ADD. Errors with the codes 50 and 51.
    virtual Task<> status(CniRequest request) = 0;
    /// Removes everything that belongs to none of the attachments that the configuration lists.
    virtual Task<> collect(CniRequest request) = 0;
};

/// The program's output and exit code.
struct CniOutput {
    std::string text;
    int exit_code = 0;
};

/// One call of a plugin's program: environment and standard input in, standard output out.
Task<CniOutput> serve_cni(Plugin& plugin, std::map<std::string, std::string> environment, std::string input, char path_separator);

/// The attachments that are valid in a GC request's configuration, as (container id, interface).
std::vector<std::pair<std::string, std::string>> valid_attachments(const CniRequest& request);

}  // namespace porthole::cni
