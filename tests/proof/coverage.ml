(* SPDX-License-Identifier: BSD-2-Clause *)
(* Says of each statement whether the analysis reached it. *)
let () = Db.Main.extend (fun () ->
  if Db.Value.is_computed () then
    Globals.Functions.iter (fun kf ->
      if Kernel_function.is_definition kf then
        List.iter (fun s ->
          let place = fst (Cil_datatype.Stmt.loc s) in
          Format.printf "STMT %s %s %d %d@." (Kernel_function.get_name kf)
            (Filepath.Normalized.to_pretty_string place.Filepath.pos_path)
            s.Cil_types.sid
            (if Eva.Results.is_reachable s then 1 else 0))
          (Kernel_function.get_definition kf).Cil_types.sallstmts))
