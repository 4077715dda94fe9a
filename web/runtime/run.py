"""The worker's Python: runs a script as __main__, evaluates, runs the job. Knows no tensors."""

import ast
import asyncio
import inspect
import io
import json
import linecache
import sys
import traceback
import types

_task = None  # the one that runs now


def _main(filename):
    module = types.ModuleType("__main__")
    module.__file__ = filename
    sys.modules["__main__"] = module
    return module.__dict__


def _remember(code, filename):
    """So that a traceback can show the lines."""
    linecache.cache[filename] = (len(code), None, code.splitlines(True), filename)


async def _execute(code, filename, scope, mode="exec"):
    compiled = compile(code, filename, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(compiled, scope)
    return await value if compiled.co_flags & inspect.CO_COROUTINE else value


async def _guard(work, filename):
    """The value, and how it ended: (value, exit status, traceback or message)."""
    global _task
    _task = asyncio.current_task()
    try:
        return await work, 0, ""
    except SystemExit as end:
        return None, *_exit(end.code)
    except asyncio.CancelledError as problem:
        interrupt = KeyboardInterrupt().with_traceback(problem.__traceback__)
        return None, 130, _trace(interrupt, filename)
    except KeyboardInterrupt as problem:
        return None, 130, _trace(problem, filename)
    except BaseException as problem:
        return None, 1, _trace(problem, filename)
    finally:
        _task = None
        sys.stdout.flush()
        sys.stderr.flush()


def _exit(code):
    if code is None:
        return 0, ""
    return (code, "") if isinstance(code, int) else (1, f"{code}\n")


def _trace(problem, filename):
    """The traceback from the script's own first line on; a refusal of ours is its message."""
    place = problem.__traceback__
    while place and place.tb_frame.f_code.co_filename != filename:
        place = place.tb_next
    if place is None and type(problem).__module__.startswith("nibblegrad."):
        return f"{problem}\n"
    if place is None and not isinstance(problem, SyntaxError):
        place = problem.__traceback__
        while place.tb_next and place.tb_frame.f_code.co_filename == "run.py":
            place = place.tb_next
    return "".join(traceback.format_exception(problem.with_traceback(place)))


async def run(code, filename, argv):
    """Runs the text of a script; JSON of its exit status and traceback."""
    sys.argv = [filename, *json.loads(argv)]
    sys.stdin = io.StringIO()  # at its end; anew, for exit() closes it
    _remember(code, filename)
    _, status, error = await _guard(_execute(code, filename, _main(filename)), filename)
    return json.dumps({"ok": status == 0, "status": status, "error": error})


async def evaluate(code, data):
    """Runs the statements and gives the last expression's value as JSON; `data` is theirs."""
    filename = "<evaluate>"
    _remember(code, filename)

    async def work():
        scope = {"__name__": "__evaluate__", "data": json.loads(data)}
        tree = ast.parse(code, filename)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        await _execute(tree, filename, scope)
        if last:
            return await _execute(ast.Expression(last.value), filename, scope, "eval")
        return None

    value, status, error = await _guard(work(), filename)
    return json.dumps({"ok": status == 0, "status": status, "error": error, "value": value})


async def finetune(config, emit):
    """Runs the library's job; each of its events goes out as JSON."""

    async def work():
        from nibblegrad import job

        await job.finetune(json.loads(config), lambda event: emit(json.dumps(event)))

    _, status, error = await _guard(work(), "")
    return json.dumps({"ok": status == 0, "status": status, "error": error})


def stop():
    """Asks the job to end after this step."""
    from nibblegrad import job

    job.stop()


def cancel():
    """Ends what waits; what computes is ended by the interrupt buffer."""
    if _task:
        _task.cancel()


sys.stdout.reconfigure(line_buffering=True)
sys.stderr.reconfigure(line_buffering=True)
