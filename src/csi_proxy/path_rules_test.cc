#include "csi_proxy/path_rules.h"

#include <gtest/gtest.h>

namespace porthole::csi_proxy {
namespace {

std::string said(const std::string& path) {
    const auto checked = PathRules::create({"C:\\var\\lib\\kubelet"}).value().check(path);
    return checked ? *checked : checked.error().message;
}

TEST(CsiProxyPaths, AllowsWhatIsBelowTheKubeletsDirectory) {
    const struct {
        const char *given, *normal;
    } rows[] = {
        {"C:\\var\\lib\\kubelet\\pods\\1\\mount", "C:\\var\\lib\\kubelet\\pods\\1\\mount"},
        {"c:\\VAR\\lib\\Kubelet\\plugins", "c:\\VAR\\lib\\Kubelet\\plugins"},
        {"C:/var/lib/kubelet/pods/1", "C:\\var\\lib\\kubelet\\pods\\1"},
        {"C:\\var\\\\lib\\kubelet\\pods\\", "C:\\var\\lib\\kubelet\\pods"},
        {"C:\\var\\lib\\kubelet\\plugins\\kubernetes.io\\csi\\d\\a b~c\\globalmount",
         "C:\\var\\lib\\kubelet\\plugins\\kubernetes.io\\csi\\d\\a b~c\\globalmount"},
    };
    for (const auto& row : rows) EXPECT_EQ(said(row.given), row.normal);
}

TEST(CsiProxyPaths, RefusesAllOthers) {
    const std::string invalid = "path contains invalid characters: ", outside = " is not within context path: C:\\var\\lib\\kubelet";
    const struct {
        std::string given, error;
    } rows[] = {
        {"", "not an absolute Windows path: "},
        {"C:", "not an absolute Windows path: C:"},
        {"C:var\\lib\\kubelet\\x", "not an absolute Windows path: C:var\\lib\\kubelet\\x"},
        {"var\\lib\\kubelet\\x", "not an absolute Windows path: var\\lib\\kubelet\\x"},
        {"\\\\server\\share", "unsupported UNC path prefix: \\\\server\\share"},
        {"\\\\?\\C:\\var\\lib\\kubelet\\x", "unsupported UNC path prefix: \\\\?\\C:\\var\\lib\\kubelet\\x"},
        {"//./pipe/x", "unsupported UNC path prefix: //./pipe/x"},
        {"C:\\var\\lib\\kubelet\\..\\x", invalid + "C:\\var\\lib\\kubelet\\..\\x"},
        {"C:\\var\\lib\\kubelet\\.\\x", invalid + "C:\\var\\lib\\kubelet\\.\\x"},
        {"C:\\var\\lib\\kubelet\\.. \\x", invalid + "C:\\var\\lib\\kubelet\\.. \\x"},
        {"C:\\var\\lib\\kubelet\\x.", invalid + "C:\\var\\lib\\kubelet\\x."},
        {"C:\\var\\lib\\kubelet\\x:stream", invalid + "C:\\var\\lib\\kubelet\\x:stream"},
        {"C:\\var\\lib\\kubelet\\a*", invalid + "C:\\var\\lib\\kubelet\\a*"},
        {std::string("C:\\var\\lib\\kubelet\\a\nb"), invalid + "C:\\var\\lib\\kubelet\\a\nb"},
        {"C:\\var\\lib\\kubelet", "path: C:\\var\\lib\\kubelet" + outside},
        {"C:\\var\\lib\\kubelet2\\x", "path: C:\\var\\lib\\kubelet2\\x" + outside},
        {"D:\\var\\lib\\kubelet\\x", "path: D:\\var\\lib\\kubelet\\x" + outside},
        {"C:\\Windows", "path: C:\\Windows" + outside},
        {"C:\\" + std::string(258, 'x'), "path length 261 exceeds maximum characters: 260"},
    };
    for (const auto& row : rows) EXPECT_EQ(said(row.given), row.error);
}

TEST(CsiProxyPaths, RefusesAWholeDriveAsADirectory) {
    for (const char* directory : {"C:\\", "C:", "", "\\\\server\\share", "kubelet"})
        EXPECT_FALSE(PathRules::create({directory}).has_value()) << directory;
}

TEST(CsiProxyPaths, AllowsDirectoriesThatAnAdministratorNames) {
    const PathRules rules = PathRules::create({"C:\\k", "D:\\work"}).value();
    EXPECT_EQ(rules.directory_of(rules.check("d:\\Work\\x").value()), "D:\\work");
    EXPECT_EQ(rules.check("D:\\worker\\x").error().message, "path: D:\\worker\\x is not within context path: C:\\k, D:\\work");
}

TEST(CsiProxyPaths, KnowsSharesVolumesAndServices) {
    for (const char* share : {"\\\\server\\share", "\\\\10.0.0.1\\data$\\folder", "\\\\files.example.com\\a"})
        EXPECT_TRUE(check_share(share).has_value()) << share;
    for (const char* share : {"", "\\\\", "\\\\server", "\\\\server\\", "\\\\.\\pipe\\x", "\\\\?\\C:\\x", "\\\\server\\..\\x",
                              "//server/share", "\\\\server\\a\"b", "\\\\server\\a;b", "\\\\\\share"})
        EXPECT_FALSE(check_share(share).has_value()) << share;
    EXPECT_TRUE(check_volume("\\\\?\\Volume{1c8f1c3e-0000-0000-0000-100000000000}\\").has_value());
    for (const char* volume : {"", "\\\\?\\Volume{}\\", "\\\\?\\Volume{1c8f1c3e-0000-0000-0000-100000000000}", "\\\\?\\C:\\",
                               "\\\\?\\Volume{1c8f1c3e-0000-0000-0000-10000000000;}\\"})
        EXPECT_FALSE(check_volume(volume).has_value()) << volume;
    EXPECT_TRUE(check_service("MSiSCSI").has_value());
    for (const char* service : {"", "a;b", "*", "a\"b"}) EXPECT_FALSE(check_service(service).has_value()) << service;
}

}  // namespace
}  // namespace porthole::csi_proxy
