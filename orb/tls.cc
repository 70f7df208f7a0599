/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/tls.h"

#include "orb/corba.h"

extern "C" {
#include "util/certificates.h"
#include "util/error.h"
}

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const LIBRARY = "libomnisslTP4.so.2";

static bool loaded;

/* The ORB needs certificate and key in one file. This one exists in memory only. */
static int both = -1;

static enum esp_status append_file(int to, const char *path, const char *what, struct esp_error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set(error, ESP_CONFIG, "cannot read the %s %s: %s", what, path, strerror(errno));
    char buffer[4096];
    size_t n;
    enum esp_status status = ESP_OK;
    while (status == ESP_OK && (n = fread(buffer, 1, sizeof buffer, file)) > 0)
        if (write(to, buffer, n) != (ssize_t)n)
            status = error_errno(error, "cannot copy the %s", what);
    explicit_bzero(buffer, sizeof buffer);
    if (status == ESP_OK && ferror(file))
        status = error_set(error, ESP_CONFIG, "cannot read the %s %s", what, path);
    if (status == ESP_OK && write(to, "\n", 1) != 1)
        status = error_errno(error, "cannot copy the %s", what);
    fclose(file);
    return status;
}

void tls_prepared()
{
    if (both >= 0)
        close(both);
    both = -1;
}

/* The parameters of the ORB's TLS transport outlive the ORB, which would leak its copies when they are set
 * again. */
static void forget_parameters()
{
    static const char *const names[] = {"_ZN10sslContext26certificate_authority_fileE",
                                        "_ZN10sslContext8key_fileE", "_ZN10sslContext17key_file_passwordE"};
    for (const char *name : names) {
        auto *value = static_cast<char **>(dlsym(RTLD_DEFAULT, name));
        if (value) {
            CORBA::string_free(*value);
            *value = nullptr;
        }
    }
}

enum esp_status tls_prepare(const struct orb_options *options, std::vector<std::string> &orb_arguments,
                            struct esp_error *error)
{
    /* The ORB would only report that it does not start. */
    enum esp_status status =
        certificates_check(options->tls_ca, options->tls_certificate, options->tls_key, error);
    if (status != ESP_OK)
        return status;
    if (!dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL))
        return error_set(error, ESP_SECURITY, "TLS needs omniORB's TLS transport: %s", dlerror());
    loaded = true;
    forget_parameters();
    tls_prepared();
    both = memfd_create("espalier-tls", MFD_CLOEXEC);
    if (both < 0)
        return error_errno(error, "cannot make memory for the key");
    status = append_file(both, options->tls_certificate, "certificate", error);
    if (status == ESP_OK)
        status = append_file(both, options->tls_key, "key", error);
    if (status != ESP_OK) {
        tls_prepared();
        return status;
    }
    const std::string path = "/proc/self/fd/" + std::to_string(both);
    const char *const more[] = {
        "-ORBsslCAFile",           options->tls_ca,
        "-ORBsslKeyFile",          path.c_str(),
        "-ORBsslKeyPassword",      "", /* without one, the ORB does not read the key at all */
        "-ORBsslVerifyMode",       "peer,fail",
        "-ORBsslAcceptTimeOut",    "10000",
        "-ORBclientTransportRule", "* ssl",
        "-ORBserverTransportRule", "* ssl",
    };
    orb_arguments.insert(orb_arguments.end(), std::begin(more), std::end(more));
    return ESP_OK;
}

/* The TLS transport of omniORB stays inactive if no authority is named; an empty name counts as a name. */
void tls_leave(std::vector<std::string> &orb_arguments)
{
    if (!loaded)
        return;
    forget_parameters();
    const char *const more[] = {"-ORBclientTransportRule", "* unix,tcp", "-ORBserverTransportRule",
                                "* unix,tcp"};
    orb_arguments.insert(orb_arguments.end(), std::begin(more), std::end(more));
}
