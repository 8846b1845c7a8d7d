#include "open_iscsi/iscsi_admin.h"

#include <algorithm>

namespace porthole::open_iscsi {

Task<CommandOutput> run_iscsiadm(std::vector<std::string> where, std::vector<std::string> what, std::vector<int> also,
                                 ProcessRunner& programs, AdminOptions options) {
    const std::string records = where.at(0) + " " + where.at(1);
    std::vector<std::string> words = std::move(where);
    words.insert(words.begin(), options.program);
    words.insert(words.end(), what.begin(), what.end());
    CO_TRY(CommandOutput ended,
           co_await programs.run({.arguments = std::move(words), .network_namespace = options.network_namespace, .limit = options.limit}));
    if (ended.exit_code == 0 || std::ranges::find(also, ended.exit_code) != also.end()) co_return ended;
    co_return Error(Reason::Io,
                    "iscsiadm " + records + " failed: exit status " + std::to_string(ended.exit_code) + ": " + ended.output + ended.errors);
}

}  // namespace porthole::open_iscsi
