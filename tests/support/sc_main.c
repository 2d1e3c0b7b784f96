/* SPDX-License-Identifier: Apache-2.0 */
/* libsystemc cannot be loaded without an sc_main. A test that simulates brings its own, which replaces this one. */

int sc_main(int argc, char *argv[]);

__attribute__((weak)) int sc_main(int argc, char *argv[])
{
    (void)argc;
    (void)argv;
    return 1;
}
