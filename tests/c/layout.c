/* Where each field of hone/hone.h lies, on machines of 64 bits. A field may be added behind these; none may move. */
#include <hone/hone.h>

#define AT(type, field, offset) typedef char type##_##field##_is_at_##offset[offsetof(type, field) == (offset) ? 1 : -1]
#define LEAST(type, bytes) typedef char type##_has_##bytes[sizeof(type) >= (bytes) ? 1 : -1]
#define EXACT(type, bytes) typedef char type##_is_##bytes[sizeof(type) == (bytes) ? 1 : -1]
#define IS(name, value) typedef char name##_is_##value[(name) == (value) ? 1 : -1]

#if UINTPTR_MAX == 0xFFFFFFFFFFFFFFFF
AT(hone_background_tuning, size, 0);
AT(hone_background_tuning, seconds, 8);
AT(hone_background_tuning, trials, 16);
AT(hone_background_tuning, compile_workers, 24);
AT(hone_background_tuning, device, 32);
LEAST(hone_background_tuning, 32);

AT(hone_launch_check, size, 0);
AT(hone_launch_check, kernel, 8);
AT(hone_launch_check, dtypes, 16);
AT(hone_launch_check, shape, 24);
AT(hone_launch_check, configuration, 32);
AT(hone_launch_check, text, 40);
AT(hone_launch_check, argument, 48);
AT(hone_launch_check, finding, 56);
AT(hone_launch_check, reserved, 60);
AT(hone_launch_check, worst, 64);
AT(hone_launch_check, not_finite, 72);
AT(hone_launch_check, elements, 80);
AT(hone_launch_check, wrong, 88);
AT(hone_launch_check, first_wrong, 96);
AT(hone_launch_check, actual, 104);
AT(hone_launch_check, of_default, 112);
LEAST(hone_launch_check, 120);

AT(hone_engine_options, size, 0);
AT(hone_engine_options, store, 8);
AT(hone_engine_options, device, 16);
AT(hone_engine_options, trust_store, 24);
AT(hone_engine_options, approved_only, 28);
AT(hone_engine_options, max_error, 32);
AT(hone_engine_options, given, 40);
AT(hone_engine_options, generation, 48);
AT(hone_engine_options, force_default, 56);
AT(hone_engine_options, force_default_count, 64);
AT(hone_engine_options, background_tuning, 72);
AT(hone_engine_options, most_problems, 80);
AT(hone_engine_options, graph_workspaces, 88);
AT(hone_engine_options, check_one_in, 96);
AT(hone_engine_options, on_check, 104);
AT(hone_engine_options, on_check_data, 112);
AT(hone_engine_options, record_workload, 120);
AT(hone_engine_options, objective, 128);
LEAST(hone_engine_options, 128);

AT(hone_engine_device_info, size, 0);
AT(hone_engine_device_info, id, 8);
AT(hone_engine_device_info, plugin, 16);
AT(hone_engine_device_info, product, 24);
AT(hone_engine_device_info, uuid, 32);
AT(hone_engine_device_info, architecture, 40);
LEAST(hone_engine_device_info, 48);

AT(hone_background_report, size, 0);
AT(hone_background_report, waiting, 8);
AT(hone_background_report, tuned, 16);
LEAST(hone_background_report, 24);

AT(hone_extent, name, 0);
AT(hone_extent, value, 8);
EXACT(hone_extent, 16);

AT(hone_argument, data, 0);
AT(hone_argument, bytes, 8);
AT(hone_argument, type, 16);
AT(hone_argument, reserved, 20);
EXACT(hone_argument, 24);

AT(hone_kernel_info, size, 0);
AT(hone_kernel_info, kernel, 8);
AT(hone_kernel_info, dtypes, 16);
AT(hone_kernel_info, configuration, 24);
AT(hone_kernel_info, why, 32);
AT(hone_kernel_info, source, 40);
AT(hone_kernel_info, superseded, 44);
AT(hone_kernel_info, setting_count, 48);
AT(hone_kernel_info, extent_count, 56);
AT(hone_kernel_info, tuned_extent_count, 64);
AT(hone_kernel_info, stale_count, 72);
AT(hone_kernel_info, argument_count, 80);
AT(hone_kernel_info, slowdown, 88);
AT(hone_kernel_info, doubt, 96);
AT(hone_kernel_info, portfolio, 104);
AT(hone_kernel_info, portfolio_shipped, 112);
AT(hone_kernel_info, wants_tuning, 116);
AT(hone_kernel_info, portfolio_product, 120);
AT(hone_kernel_info, portfolio_made_for, 128);
LEAST(hone_kernel_info, 128);

AT(hone_setting, size, 0);
AT(hone_setting, name, 8);
AT(hone_setting, kind, 16);
AT(hone_setting, reserved, 20);
AT(hone_setting, integer, 24);
AT(hone_setting, real, 32);
LEAST(hone_setting, 40);

AT(hone_staleness, size, 0);
AT(hone_staleness, what, 8);
AT(hone_staleness, then, 16);
AT(hone_staleness, now, 24);
LEAST(hone_staleness, 32);

AT(hone_argument_info, size, 0);
AT(hone_argument_info, name, 8);
AT(hone_argument_info, role, 16);
AT(hone_argument_info, type, 20);
AT(hone_argument_info, elements, 24);
AT(hone_argument_info, bytes, 32);
LEAST(hone_argument_info, 40);

AT(hone_progress, size, 0);
AT(hone_progress, trials, 8);
AT(hone_progress, seconds, 16);
AT(hone_progress, default_us, 24);
AT(hone_progress, best_us, 32);
AT(hone_progress, kernel, 40);
AT(hone_progress, outcome, 48);
LEAST(hone_progress, 56);

AT(hone_tuning_options, size, 0);
AT(hone_tuning_options, seconds, 8);
AT(hone_tuning_options, trials, 16);
AT(hone_tuning_options, seed, 24);
AT(hone_tuning_options, strategy, 32);
AT(hone_tuning_options, compile_workers, 40);
AT(hone_tuning_options, fresh, 48);
AT(hone_tuning_options, no_transfer, 52);
AT(hone_tuning_options, on_progress, 56);
AT(hone_tuning_options, on_progress_data, 64);
AT(hone_tuning_options, stop, 72);
AT(hone_tuning_options, devices, 80);
LEAST(hone_tuning_options, 80);

AT(hone_tuning_info, size, 0);
AT(hone_tuning_info, found, 8);
AT(hone_tuning_info, interrupted, 12);
AT(hone_tuning_info, kernel, 16);
AT(hone_tuning_info, configuration, 24);
AT(hone_tuning_info, first_failure, 32);
AT(hone_tuning_info, session, 40);
AT(hone_tuning_info, trials, 48);
AT(hone_tuning_info, wrong, 56);
AT(hone_tuning_info, seconds, 64);
AT(hone_tuning_info, default_us, 72);
AT(hone_tuning_info, best_us, 80);
AT(hone_tuning_info, best_low_us, 88);
AT(hone_tuning_info, best_high_us, 96);
AT(hone_tuning_info, speedup, 104);
AT(hone_tuning_info, record_kept, 112);
AT(hone_tuning_info, reserved, 116);
LEAST(hone_tuning_info, 120);

AT(hone_records_options, size, 0);
AT(hone_records_options, kernel, 8);
AT(hone_records_options, generation, 16);
AT(hone_records_options, approved_only, 24);
AT(hone_records_options, all, 28);
LEAST(hone_records_options, 32);

AT(hone_record, size, 0);
AT(hone_record, id, 8);
AT(hone_record, generation, 16);
AT(hone_record, state, 24);
AT(hone_record, served, 28);
AT(hone_record, kernel, 32);
AT(hone_record, source_hash, 40);
AT(hone_record, dtypes, 48);
AT(hone_record, shape, 56);
AT(hone_record, accuracy_bound, 64);
AT(hone_record, input_profile, 72);
AT(hone_record, product, 80);
AT(hone_record, configuration, 88);
AT(hone_record, time_us, 96);
AT(hone_record, default_us, 104);
AT(hone_record, session, 112);
AT(hone_record, created_at, 120);
LEAST(hone_record, 128);
#endif

/* Values are never renumbered. */
IS(HONE_SUCCESS, 0);
IS(HONE_ERROR_INVALID_ARGUMENT, 1);
IS(HONE_ERROR_NOT_FOUND, 2);
IS(HONE_ERROR_BAD_KERNEL, 3);
IS(HONE_ERROR_EMPTY_SPACE, 4);
IS(HONE_ERROR_IO, 5);
IS(HONE_ERROR_STORE, 6);
IS(HONE_ERROR_UNAVAILABLE, 7);
IS(HONE_ERROR_COMPILE, 8);
IS(HONE_ERROR_LAUNCH, 9);
IS(HONE_ERROR_DEVICE, 10);
IS(HONE_ERROR_TIMEOUT, 11);
IS(HONE_ERROR_PLUGIN, 12);
IS(HONE_ERROR_CANCELLED, 13);
IS(HONE_ERROR_CONTRACT, 14);
IS(HONE_ERROR_OUT_OF_MEMORY, 15);
IS(HONE_ERROR_INTERNAL, 16);
IS(HONE_TYPE_ANY, 0);
IS(HONE_TYPE_F32, 1);
IS(HONE_TYPE_F16, 2);
IS(HONE_TYPE_BF16, 3);
IS(HONE_TYPE_F64, 4);
IS(HONE_TYPE_I32, 5);
IS(HONE_TYPE_I8, 6);
IS(HONE_TYPE_U8, 7);
IS(HONE_TYPE_I16, 8);
IS(HONE_TYPE_U16, 9);
IS(HONE_TYPE_U32, 10);
IS(HONE_TYPE_I64, 11);
IS(HONE_TYPE_U64, 12);
IS(HONE_TYPE_BOOL, 13);
IS(HONE_TYPE_E4M3, 14);
IS(HONE_TYPE_E5M2, 15);
IS(HONE_TYPE_I4X2, 16);
IS(HONE_TYPE_U4X2, 17);
IS(HONE_CHECK_AGREES, 0);
IS(HONE_CHECK_NOT_FINITE, 1);
IS(HONE_CHECK_DIFFERS, 2);
IS(HONE_SOURCE_EXACT, 0);
IS(HONE_SOURCE_PREDICTED, 1);
IS(HONE_SOURCE_NEAREST, 2);
IS(HONE_SOURCE_DEFAULT, 3);
IS(HONE_VALUE_INTEGER, 0);
IS(HONE_VALUE_BOOLEAN, 1);
IS(HONE_VALUE_REAL, 2);
IS(HONE_ROLE_IN, 0);
IS(HONE_ROLE_OUT, 1);
IS(HONE_ROLE_INOUT, 2);
IS(HONE_ROLE_SCALAR, 3);
IS(HONE_RECORD_CANDIDATE, 0);
IS(HONE_RECORD_APPROVED, 1);
IS(HONE_RECORD_PINNED, 2);
IS(HONE_RECORD_WITHDRAWN, 3);

/* Not a translation unit without anything. */
int hone_layout_is_checked(void);
