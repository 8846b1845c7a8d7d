// The ConfigMap kube-root-ca.crt of an etcd that a server is told to use: whatever it has, the server goes on, or says in a line which
// authority it expected. A cluster that has one of the server's own authorities is always its own.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cmd/server/cluster_authority.h"
#include "net/tls/x509.h"
#include "runtime/event_loop.h"
#include "schema/json/json.h"
#include "schema/value.h"

using namespace porthole;

namespace {

constexpr std::size_t LongestMessage = 512;

void check(std::string_view stored, const std::string& own) {
    const auto checked = cmd::check_authority(stored, own);
    if (checked) return;
    if (checked.error().reason != Reason::Conflict || checked.error().message.size() > LongestMessage) std::abort();
}

std::string published(const std::string& authorities) {
    return schema::to_json(schema::Value::object({{"data", schema::Value::object({{"ca.crt", authorities}})}}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const SystemTime now(std::chrono::days(20000));
    static const std::string own = net::CertificateAuthority::create("own", now, now + std::chrono::hours(1)).certificate_pem();
    const std::string text(reinterpret_cast<const char*>(data), size);
    check(text, own);
    check(published(text), own);
    check(published(text), own + text);
    for (const std::string& authorities : {text + "\n" + own, own + text})
        if (!cmd::check_authority(published(authorities), own)) std::abort();
    return 0;
}
