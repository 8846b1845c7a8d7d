#pragma once
#include "apiserver/access_flags.h"
#include "cmd/program/flags.h"

namespace porthole::cmd {

/// kube-apiserver's flags about authentication, authorization and admission. `flags` must outlive `app`.
void add_access_flags(CLI::App& app, apiserver::AccessFlags& flags);

}  // namespace porthole::cmd
