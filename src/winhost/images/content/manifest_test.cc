#include "winhost/images/content/manifest.h"

#include <gtest/gtest.h>

namespace porthole::winhost {
namespace {

const std::string Digest = "sha256:" + std::string(64, 'a');

HostPlatform host(const char* version) { return {.version = *OsVersion::parse(version)}; }

Manifest list_of(std::vector<Platform> platforms) {
    Manifest list{.is_index = true};
    for (Platform& platform : platforms) {
        list.manifests.push_back({.digest = platform.text(), .platform = std::move(platform)});
    }
    return list;
}

Platform windows(const char* version) { return {"amd64", "windows", version}; }

TEST(OsVersion, ReadsWhatImagesAndHostsCarry) {
    struct {
        const char* text;
        bool good;
    } const rows[] = {{"10.0.20348.2113", true}, {"10.0.20348", true}, {"10.0", false},        {"", false},
                      {"10.0.20348.1.2", false}, {"10.0.x.1", false},  {"10.0.20348.", false}, {"10.0.99999999999", false}};
    for (const auto& row : rows) EXPECT_EQ(OsVersion::parse(row.text).has_value(), row.good) << row.text;
    EXPECT_EQ(OsVersion::parse("10.0.20348.2113")->text(), "10.0.20348.2113");
    EXPECT_EQ(OsVersion::parse("10.0.20348")->text(), "10.0.20348");
}

TEST(OsVersion, RunsOnlyTheHostsBuildBeforeServer2022AndBackToItFromThen) {  // IMG-01
    struct {
        const char *host, *image;
        bool runs;
    } const rows[] = {
        {"10.0.17763.1", "10.0.17763.5000", true}, {"10.0.17763.1", "10.0.17134.1", false}, {"10.0.17763.1", "10.0.20348.1", false},
        {"10.0.19042.1", "10.0.19041.1", false},   {"10.0.20348.1", "10.0.20348.9", true},  {"10.0.20348.1", "10.0.17763.1", false},
        {"10.0.26100.1", "10.0.20348.1", true},    {"10.0.26100.1", "10.0.25398.1", true},  {"10.0.26100.1", "10.0.17763.1", false},
        {"10.0.20348.1", "10.0.26100.1", false},   {"10.0.20348.1", "6.3.20348.1", false},
    };
    for (const auto& row : rows)
        EXPECT_EQ(can_run(*OsVersion::parse(row.host), *OsVersion::parse(row.image)), row.runs) << row.host << " " << row.image;
}

// IMG-06
TEST(OsVersion, TakesItsRulesFromATable) {
    const std::vector<Compatibility> table{{30000, 26100}, {0, 0}};
    EXPECT_TRUE(can_run(*OsVersion::parse("10.0.30001"), *OsVersion::parse("10.0.26100"), table));
    EXPECT_FALSE(can_run(*OsVersion::parse("10.0.26100"), *OsVersion::parse("10.0.20348"), table));
}

TEST(Manifest, ChoosesTheEntryOfTheHostsBuild) {  // IMG-02
    const std::vector<Platform> all{{"amd64", "linux", ""},     windows("10.0.17763.100"), windows("10.0.20348.10"),
                                    windows("10.0.20348.2000"), windows("10.0.26100.5"),   {"arm64", "windows", "10.0.20348.9999"}};
    struct {
        const char *host, *chosen;
    } const rows[] = {
        {"10.0.17763.5000", "windows/amd64 10.0.17763.100"},
        {"10.0.20348.1", "windows/amd64 10.0.20348.2000"},
        {"10.0.25398.1", "windows/amd64 10.0.20348.2000"},
        {"10.0.26100.1", "windows/amd64 10.0.26100.5"},
    };
    for (const auto& row : rows) {
        const auto chosen = choose_manifest(list_of(all), host(row.host));
        ASSERT_TRUE(chosen.has_value()) << row.host;
        EXPECT_EQ(chosen->digest, row.chosen) << row.host;
    }
}

TEST(Manifest, PrefersAnEntryWithABuildToOneWithout) {
    EXPECT_EQ(choose_manifest(list_of({windows(""), windows("10.0.20348.1")}), host("10.0.20348"))->digest, "windows/amd64 10.0.20348.1");
    EXPECT_EQ(choose_manifest(list_of({windows("")}), host("10.0.20348"))->digest, "windows/amd64");
}

// IMG-02
TEST(Manifest, NamesWhatIsOfferedWhenNothingFits) {
    const auto by_build = choose_manifest(list_of({windows("10.0.17763.1"), {"amd64", "linux", ""}}), host("10.0.20348.2113"));
    ASSERT_FALSE(by_build.has_value());
    EXPECT_EQ(by_build.error().reason, Reason::NotFound);
    EXPECT_EQ(by_build.error().message,
              "ImageOSVersionMismatch: the container operating system does not match the host operating system (0xc0370101): no match for "
              "platform in manifest: this host is windows/amd64 10.0.20348.2113; offered: windows/amd64 10.0.17763.1, linux/amd64");
    const auto by_system = choose_manifest(list_of({{"amd64", "linux", ""}}), host("10.0.20348"));
    EXPECT_TRUE(by_system.error().message.starts_with("ImageOSMismatch: ")) << by_system.error().message;
}

TEST(Manifest, RefusesAnImageOfAnotherBuildWithBothNamed) {  // IMG-01
    const auto refused = check_platform({.architecture = "amd64", .os = "windows", .os_version = "10.0.17763.1"}, host("10.0.20348.2113"));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message,
              "ImageOSVersionMismatch: the container operating system does not match the host operating system (0xc0370101): the image is "
              "built for 10.0.17763.1, this host is 10.0.20348.2113");
    const auto linux_image = check_platform({.architecture = "amd64", .os = "linux"}, host("10.0.20348"));
    EXPECT_EQ(linux_image.error().message, "ImageOSMismatch: the image is for linux/amd64, this host is windows/amd64 10.0.20348");
    EXPECT_TRUE(check_platform({.architecture = "amd64", .os = "windows"}, host("10.0.20348")).has_value());
}

TEST(Manifest, ReadsListsAndManifests) {
    const auto list = parse_manifest(R"({"schemaVersion":2,"manifests":[{"digest":")" + Digest +
                                     R"(","size":7,"platform":{"os":"windows","architecture":"amd64","os.version":"10.0.1.2"}}]})");
    ASSERT_TRUE(list.has_value());
    ASSERT_TRUE(list->is_index);
    EXPECT_EQ(list->manifests[0].platform->text(), "windows/amd64 10.0.1.2");
    const auto manifest = parse_manifest(R"({"schemaVersion":2,"config":{"digest":")" + Digest +
                                         R"(","size":1},"layers":[{"mediaType":)"
                                         R"("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip","digest":")" +
                                         Digest + R"(","size":2,"urls":["https://x"]}]})");
    ASSERT_TRUE(manifest.has_value());
    EXPECT_TRUE(manifest->layers[0].is_foreign());
}

TEST(Manifest, RefusesWhatIsNone) {
    const std::string rows[] = {"",
                                "[]",
                                "{}",
                                R"({"schemaVersion":1})",
                                R"({"schemaVersion":2,"config":{"digest":"../../x","size":1}})",
                                R"({"schemaVersion":2,"config":{"digest":")" + Digest + R"(","size":-1}})",
                                R"({"manifests":[{"digest":"md5:1","size":1}]})"};
    for (const std::string& row : rows) EXPECT_EQ(parse_manifest(row).error().reason, Reason::Invalid) << row;
}

TEST(ImageConfiguration, CarriesWhatAContainerNeeds) {
    const auto image = parse_image_config(R"({"architecture":"amd64","os":"windows","os.version":"10.0.20348.1","config":{
        "Entrypoint":["C:\\a.exe"],"Cmd":["x y"],"ArgsEscaped":true,"Env":["A=b"],"WorkingDir":"C:\\w","User":"ContainerUser",
        "Labels":{"l":"1"},"ExposedPorts":{"80/tcp":{}},"Volumes":{"c:\\d":{}},"StopSignal":"9"},"rootfs":{"diff_ids":[]}})");
    ASSERT_TRUE(image.has_value());
    const ImageConfig& config = image->config;
    EXPECT_EQ(config.entrypoint, std::vector<std::string>{"C:\\a.exe"});
    EXPECT_EQ(config.command, std::vector<std::string>{"x y"});
    EXPECT_TRUE(config.args_escaped);
    EXPECT_EQ(config.environment, std::vector<std::string>{"A=b"});
    EXPECT_EQ(config.working_dir, "C:\\w");
    EXPECT_EQ(config.user, "ContainerUser");
    EXPECT_EQ(config.labels.at("l"), "1");
    EXPECT_EQ(config.exposed_ports, std::vector<std::string>{"80/tcp"});
    EXPECT_EQ(config.volumes, std::vector<std::string>{"c:\\d"});
    EXPECT_EQ(config.stop_signal, "9");
}

TEST(ImageConfiguration, KnowsMicrosoftsLayersByTheirHistory) {
    const auto image = parse_image_config(R"({"os":"windows","history":[{"created_by":"Apply image 10.0.20348.1"},
        {"created_by":"Install update 10.0.20348.2113"},{"created_by":"cmd /S /C #(nop) ENV","empty_layer":true},
        {"created_by":"cmd /S /C copy"},{"created_by":"Install update by hand"}],"rootfs":{"diff_ids":[]}})");
    EXPECT_EQ(image->base_layers, 2u);
}

}  // namespace
}  // namespace porthole::winhost
